// azure-judge checks requests to Azure Resource Manager, and the answers, against Microsoft's own description: the
// clients, models and server fakes that Microsoft generates for its SDK for Go.
//
// It reads exchanges from standard input, one JSON object a line, and writes one verdict a line:
//
//	{"method", "url", "headers", "body", "response": {"status", "body"}}    body: a string; response may be absent
//	{"request": [PROBLEM...], "answer": [PROBLEM...], "call": "VirtualMachinesClient.Get"}
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

type exchange struct {
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
	Response *answer           `json:"response"`
}

type answer struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// verdict lists what Azure would refuse or misunderstand, and what of the answer Microsoft's client would not read.
type verdict struct {
	Request []string `json:"request"`
	Answer  []string `json:"answer"`
	Call    string   `json:"call"`
}

func (v *verdict) refuse(format string, a ...any) {
	v.Request = append(v.Request, fmt.Sprintf(format, a...))
}

func (v *verdict) blame(format string, a ...any) {
	v.Answer = append(v.Answer, fmt.Sprintf(format, a...))
}

var (
	// The status of a long-running operation, which the fakes do not know.
	operationPath = regexp.MustCompile(`(?i)^/subscriptions/[^/]+(/providers/[^/]+/locations/[^/]+)?` +
		`/(\w*operations|operationresults)/[^/]+$`)
	versionForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d(-preview)?$`)
)

func judge(x exchange) (v verdict) {
	v.Request, v.Answer = []string{}, []string{}
	u, err := url.Parse(x.URL)
	if err != nil {
		v.refuse("url: %v", err)
		return
	}
	version := ""
	for name := range u.Query() {
		if strings.EqualFold(name, "api-version") {
			version = u.Query().Get(name)
		}
	}
	if !versionForm.MatchString(version) {
		v.refuse("api-version is %q, not YYYY-MM-DD", version)
	}
	if operationPath.MatchString(u.Path) {
		v.judgeOperation(x, u)
		return
	}
	segments := strings.Split(strings.TrimSuffix(u.Path, "/"), "/")[1:]
	r, others := find(x.Method, segments)
	if r == nil {
		v.refuse("no call of Microsoft's SDK has this path and method (other methods: %q)", others)
		return
	}
	v.Call = r.api
	for name := range u.Query() {
		if name != "$skiptoken" && !r.query[strings.ToLower(name)] {
			v.refuse("query parameter %q is not one of this call", name)
		}
	}
	body := bytes.TrimSpace([]byte(x.Body))
	switch {
	case r.takes == nil && len(body) > 0 && string(body) != "{}":
		v.refuse("a body, but this call has none")
	case r.takes != nil && len(body) == 0:
		v.refuse("no body, but this call has one (%s)", r.takes)
	}
	v.judgeBody(r, x, u, segments, version, body)
	if x.Response != nil {
		v.judgeAnswer(r, *x.Response)
	}
	return
}

func (v *verdict) judgeOperation(x exchange, u *url.URL) {
	v.Call = "operation"
	if x.Method != "GET" {
		v.refuse("%s of an operation", x.Method)
	}
	isStatus := strings.Contains(strings.ToLower(u.Path), "operations/") && u.Query().Get("monitor") == ""
	if x.Response != nil && x.Response.Status == http.StatusOK && isStatus {
		var status struct{ Status string }
		if json.Unmarshal([]byte(x.Response.Body), &status) != nil || status.Status == "" {
			v.blame("status of an operation without the field status")
		}
	}
}

// judgeBody sends the request to the fake of the call, which parses path, query and body. Fields of the body that are
// lost when the decoded model is encoded again do not exist.
func (v *verdict) judgeBody(r *route, x exchange, u *url.URL, segments []string, version string, body []byte) {
	escaped := ""
	for i, s := range segments {
		if r.segments[i] != "" {
			s = r.segments[i] // Azure does not regard case, the fakes do
		}
		escaped += "/" + url.PathEscape(s)
	}
	query := u.Query()
	query.Del("$skiptoken")
	ctx := context.WithValue(context.Background(), runtime.CtxAPINameKey{}, r.api)
	target := "https://management.azure.com" + escaped + "?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, x.Method, target, nil)
	if err != nil {
		v.refuse("%v", err)
		return
	}
	if r.takes != nil {
		request.Body = io.NopCloser(bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		if t := x.Headers["content-type"]; !strings.HasPrefix(strings.ToLower(t), "application/json") {
			v.refuse("Content-Type is %q, not application/json: Azure answers 415", t)
		}
	}
	r.library.reached = nil
	if _, err = r.library.fakes().Do(request); r.library.reached == nil {
		v.refuse("the fake refuses it: %v", err)
		return
	}
	for _, a := range r.library.reached {
		if a.Type() != r.takes || len(body) == 0 {
			continue
		}
		again, err := json.Marshal(a.Interface())
		if err != nil {
			v.refuse("decoded, but cannot be encoded again: %v", err)
			continue
		}
		for _, field := range difference(body, again) {
			v.refuse("%s: Microsoft's model has no such field", field)
		}
		var value any
		_ = json.Unmarshal(body, &value)
		r.library.schema.check(value, a.Type().Name(), "", version, x.Method != "PATCH", v.refuse)
	}
}

func (v *verdict) judgeAnswer(r *route, a answer) {
	body := []byte(a.Body)
	if len(bytes.TrimSpace(body)) == 0 {
		return
	}
	if a.Status >= 400 {
		var e struct {
			Error         struct{ Code, Message string }
			Code, Message string // Compute's throttling has no "error" around it
		}
		if json.Unmarshal(body, &e) != nil || e.Error.Code+e.Code == "" || e.Error.Message+e.Message == "" {
			v.blame("error without code and message")
		}
		return
	}
	for i := 0; i < r.answers.NumField(); i++ {
		f := r.answers.Field(i)
		if !f.Anonymous {
			continue
		}
		model := reflect.New(f.Type)
		if err := json.Unmarshal(body, model.Interface()); err != nil {
			v.blame("%v", err)
			return
		}
		again, err := json.Marshal(model.Interface())
		if err != nil {
			v.blame("%v", err)
			return
		}
		for _, field := range difference(body, again) {
			v.blame("%s: Microsoft's model has no such field", field)
		}
		return
	}
}

// difference returns the paths of fields of `before` that are not in `after`. A null counts as absent.
func difference(before, after []byte) (lost []string) {
	var a, b any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return nil
	}
	var walk func(a, b any, at string)
	walk = func(a, b any, at string) {
		switch x := a.(type) {
		case map[string]any:
			y, ok := b.(map[string]any)
			if !ok {
				lost = append(lost, at)
				return
			}
			for k := range x {
				if z, ok := y[k]; ok {
					walk(x[k], z, at+"/"+k)
				} else if x[k] != nil {
					lost = append(lost, at+"/"+k)
				}
			}
		case []any:
			y, ok := b.([]any)
			if !ok || len(x) != len(y) {
				lost = append(lost, at)
				return
			}
			for i := range x {
				walk(x[i], y[i], fmt.Sprintf("%s/%d", at, i))
			}
		}
	}
	walk(a, b, "")
	sort.Strings(lost)
	return lost
}

func main() {
	log.SetFlags(0)
	loadAll()
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var x exchange
		if err := json.Unmarshal(line, &x); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(judge(x)); err != nil {
			return
		}
	}
}
