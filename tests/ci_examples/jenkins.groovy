// Runs a Jenkinsfile with the library of the example, and those steps of Jenkins that they use: sh as an agent does it, the
// bindings of credentials, the environment of blocks. Jenkins itself is in no archive that this suite uses.
//
//     groovy jenkins.groovy SETTINGS.json
//
// Exit status: 0 success, 1 failure, 2 aborted, which the file `abort` asks for.
import groovy.json.JsonSlurper
import java.util.concurrent.TimeUnit

class Failure extends Exception {
  Failure(String message) { super(message) }
}

class Aborted extends Exception {}

class Variables {
  Closure look

  def propertyMissing(String name) { look(name) }
}

settings = new JsonSlurper().parse(new File(args[0]))
environment = new LinkedHashMap<String, String>(System.getenv() + settings.environment)
aborted = false

// A shell script: run by its first line if that names an interpreter, else by sh -xe.
def run(String text) {
  File script = File.createTempFile('script', '.sh', new File(settings.temporary))
  script.text = text
  script.setExecutable(true)
  List command = text.startsWith('#!') ? [script.path] : ['sh', '-xe', script.path]
  ProcessBuilder builder = new ProcessBuilder(command).directory(new File(settings.workspace)).inheritIO()
  builder.environment().clear()
  builder.environment().putAll(environment)
  Process process = builder.start()
  while (!process.waitFor(50, TimeUnit.MILLISECONDS)) {
    if (!aborted && new File(settings.abort).exists()) {
      aborted = true
      (process.toHandle().descendants().toArray() + process.toHandle()).each { it.destroy() }
      process.waitFor()
      throw new Aborted()
    }
  }
  if (process.exitValue() != 0) throw new Failure("script returned exit code ${process.exitValue()}")
}

def withVariables(Map more, Closure body) {
  Map outside = environment
  environment = outside + more
  try {
    body()
  } finally {
    environment = outside
  }
}

Map steps = [
  scm: 'scm',
  checkout: { what -> },
  node: { String label, Closure body -> body() },
  stage: { String name, Closure body -> body() },
  timeout: { Map limit, Closure body -> body() },
  pwd: { Map options -> settings.temporary },
  libraryResource: { String path -> new File("${settings.library}/resources/${path}").text },
  string: { Map binding -> [(binding.variable): settings.credentials[binding.credentialsId]] },
  sshUserPrivateKey: { Map binding -> [(binding.keyFileVariable): settings.credentials[binding.credentialsId]] },
  withCredentials: { List bindings, Closure body -> withVariables(bindings.sum(), body) },
  withEnv: { List variables, Closure body ->
    withVariables(variables.collectEntries { String each -> each.split('=', 2).toList() }, body)
  },
  sh: { script -> run(script.toString()) },
  env: new Variables(look: { String name -> environment[name] }),
]
GroovyShell shell = new GroovyShell(this.class.classLoader, new Binding(steps))
Script step = shell.parse(new File("${settings.library}/vars/withNodepool.groovy"))
steps.withNodepool = { Object[] arguments -> step.call(*arguments) }
Script pipeline = shell.parse(settings.pipeline)
pipeline.binding = new Binding(steps)
try {
  pipeline.run()
} catch (Failure failure) {
  println "FAILURE: ${failure.message}"
  System.exit(1)
} catch (Aborted ignored) {
  println 'ABORTED'
  System.exit(2)
}
