// A step for pipelines: leases nodes, runs its block, and releases the nodes however the block ends.
//
//     withNodepool('debian-12') { sh 'ssh -F "$NODEPOOL_SSH_CONFIG" debian-12 ./run-tests' }
//     withNodepool(labels: ['debian-12', 'debian-12'], lease: '4h') { … }
def call(String label, Closure body) {
  call(labels: [label], body)
}

def call(Map wanted, Closure body) {
  // Idempotency key of this call: a retry, when no launcher has answered, gets the same lease.
  String id = UUID.randomUUID()
  String directory = "${pwd(tmp: true)}/nodepool-${id}"
  // NODEPOOL_JOB is for the block: a unique name for a directory on the node.
  List variables = ["NODEPOOL_DIRECTORY=${directory}", "NODEPOOL_SSH_CONFIG=${directory}/ssh", "NODEPOOL_JOB=job-${id}",
                    "NODEPOOL_KEY=${env.BUILD_TAG}/${id}", "NODEPOOL_LEASE=${wanted.lease ?: '2h'}", "NODEPOOL_LABELS=${wanted.labels.join(' ')}"]
  withEnv(variables) {
    try {
      withCredentials([string(credentialsId: 'nodepool-token', variable: 'NODEPOOL_TOKEN'),
                       sshUserPrivateKey(credentialsId: 'nodepool-ssh', keyFileVariable: 'NODEPOOL_SSH_KEY')]) {
        sh libraryResource('nodepool/ask.sh')
      }
      body()
    } finally {
      withCredentials([string(credentialsId: 'nodepool-token', variable: 'NODEPOOL_TOKEN')]) {
        sh libraryResource('nodepool/return.sh')
      }
    }
  }
}
