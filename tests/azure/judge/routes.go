package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"reflect"
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	armcompute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v6"
	fakecompute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v6/fake"
	armnetwork "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	fakenetwork "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
	fakeresources "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources/fake"
)

// library is one module of the SDK. Its fakes answer every call with errReached and note the decoded arguments.
type library struct {
	fakes   func() policy.Transporter // a new one for each request: it keeps state about pages and operations
	schema  *schema
	reached []reflect.Value // the arguments of the fake that was called last
}

// route is one method of one client, as that client sends it.
type route struct {
	library  *library
	api      string // "VirtualMachinesClient.BeginCreateOrUpdate"
	method   string
	segments []string        // of the path; "" is a parameter
	query    map[string]bool // all query parameters that the client can send, in lower case
	takes    reflect.Type    // the type of the body, or nil
	answers  reflect.Type
}

var (
	errReached  = errors.New("reached")
	errCaptured = errors.New("captured")
	routes      []*route
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// placeholder is the value of every string argument. A segment of the path that equals it is a parameter.
const placeholder = "zz-parameter-zz"

// load learns the routes of a module from its clients, and sets every function of its fakes.
func load(module string, servers any, fakes func() policy.Transporter,
	newFactory func(policy.Transporter) (any, error)) {
	lib := &library{fakes: fakes, schema: readSchema(module)}
	var sent *http.Request
	factory, err := newFactory(transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = r
		return nil, errCaptured
	}))
	if err != nil {
		log.Fatal(err)
	}
	factoryValue := reflect.ValueOf(factory)
	for i := 0; i < factoryValue.NumMethod(); i++ {
		if factoryValue.Method(i).Type().NumIn() != 0 {
			continue
		}
		client := factoryValue.Method(i).Call(nil)[0]
		generic := client.Type().Elem().Name() == "Client" // resources of any type
		for j := 0; j < client.NumMethod(); j++ {
			sent = nil
			r := &route{library: lib, query: map[string]bool{}}
			call(client.Method(j), r, false)
			if sent == nil {
				continue
			}
			r.method = sent.Method
			r.api, _ = sent.Context().Value(runtime.CtxAPINameKey{}).(string)
			for _, s := range strings.Split(sent.URL.Path, "/")[1:] {
				if s == placeholder {
					s = ""
				}
				r.segments = append(r.segments, s)
			}
			if r.segments[0] == "" || generic && r.segments[len(r.segments)-1] == "" {
				continue // its path matches everything
			}
			call(client.Method(j), r, true)
			for k := range sent.URL.Query() {
				r.query[strings.ToLower(k)] = true
			}
			routes = append(routes, r)
		}
	}
	serversValue := reflect.ValueOf(servers).Elem()
	for i := 0; i < serversValue.NumField(); i++ {
		for j := 0; j < serversValue.Field(i).NumField(); j++ {
			if f := serversValue.Field(i).Field(j); f.Kind() == reflect.Func {
				f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
					lib.reached = args
					var results []reflect.Value
					for k := 0; k < f.Type().NumOut(); k++ {
						results = append(results, reflect.Zero(f.Type().Out(k)))
					}
					if len(results) == 2 {
						var e azfake.ErrorResponder
						e.SetError(errReached)
						results[1] = reflect.ValueOf(e)
					}
					return results
				}))
			}
		}
	}
}

// call makes a client send a request with placeholders, and notes the types of body and answer.
func call(method reflect.Value, r *route, withOptions bool) {
	defer func() { _ = recover() }() // not all methods are calls
	t := method.Type()
	args := make([]reflect.Value, t.NumIn())
	for i := range args {
		in := t.In(i)
		args[i] = reflect.New(in).Elem()
		switch {
		case in.String() == "context.Context":
			args[i].Set(reflect.ValueOf(context.Background()))
		case in.Kind() == reflect.String:
			args[i].SetString(placeholder)
		case in.Kind() == reflect.Ptr && strings.HasSuffix(in.Elem().Name(), "Options"):
			if withOptions {
				args[i].Set(reflect.New(in.Elem()))
				fill(args[i].Elem())
			}
		case in.Kind() == reflect.Struct || in.Kind() == reflect.Map || in.Kind() == reflect.Slice:
			r.takes = in
		}
	}
	result := method.Call(args)[0]
	if next := result.MethodByName("NextPage"); next.IsValid() {
		r.answers = next.Type().Out(0)
		next.Call([]reflect.Value{reflect.ValueOf(context.Background())})
	} else if done, ok := result.Type().MethodByName("Result"); ok {
		r.answers = done.Type.Out(0)
	} else {
		r.answers = result.Type()
	}
}

func fill(options reflect.Value) {
	for i := 0; i < options.NumField(); i++ {
		f := options.Field(i)
		if f.Kind() != reflect.Ptr {
			continue
		}
		f.Set(reflect.New(f.Type().Elem()))
		if f.Elem().Kind() == reflect.String {
			f.Elem().SetString(placeholder)
		}
	}
}

func (r *route) matches(segments []string) (bool, int) {
	literal := 0
	if len(segments) != len(r.segments) {
		return false, 0
	}
	for i, s := range r.segments {
		if s != "" && !strings.EqualFold(s, segments[i]) || segments[i] == "" {
			return false, 0
		}
		if s != "" {
			literal++
		}
	}
	return true, literal
}

func find(method string, segments []string) (best *route, others []string) {
	most := -1
	for _, r := range routes {
		if ok, literal := r.matches(segments); ok && r.method == method && literal > most {
			best, most = r, literal
		} else if ok && r.method != method {
			others = append(others, r.method)
		}
	}
	sort.Strings(others)
	return best, others
}

func loadAll() {
	options := func(t policy.Transporter) *arm.ClientOptions {
		o := &arm.ClientOptions{DisableRPRegistration: true}
		o.Transport, o.Retry.MaxRetries = t, -1
		return o
	}
	credential := &azfake.TokenCredential{}
	compute := &fakecompute.ServerFactory{}
	load("armcompute", compute,
		func() policy.Transporter { return fakecompute.NewServerFactoryTransport(compute) },
		func(t policy.Transporter) (any, error) {
			return armcompute.NewClientFactory(placeholder, credential, options(t))
		})
	network := &fakenetwork.ServerFactory{}
	load("armnetwork", network,
		func() policy.Transporter { return fakenetwork.NewServerFactoryTransport(network) },
		func(t policy.Transporter) (any, error) {
			return armnetwork.NewClientFactory(placeholder, credential, options(t))
		})
	resources := &fakeresources.ServerFactory{}
	load("armresources", resources,
		func() policy.Transporter { return fakeresources.NewServerFactoryTransport(resources) },
		func(t policy.Transporter) (any, error) {
			return armresources.NewClientFactory(placeholder, credential, options(t))
		})
}
