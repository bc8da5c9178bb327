"""Stands in for scheduler and kubelet: pods come up, as far as the API can tell, and nothing runs.

They are not bound to a node, so that who deletes one waits for no kubelet.
"""
import threading

from api import Refused


class Kubelet(threading.Thread):
    def __init__(self, api):
        super().__init__(daemon=True)
        self.api = api
        self.ended = threading.Event()
        self.fails = set()     # labels of nodes whose pods fail
        self.holds_back = set()  # … whose pods stay as they are

    def run(self):
        while not self.ended.wait(0.1):
            for pod in self.api.items('/api/v1/pods?fieldSelector=status.phase=Pending'):
                try:
                    self.bring_up(pod)
                except Refused:
                    pass  # it is being deleted

    def bring_up(self, pod):
        metadata = pod['metadata']
        label = metadata.get('labels', {}).get('nodepool_node_label', '')
        path = f'/api/v1/namespaces/{metadata["namespace"]}/pods/{metadata["name"]}'
        if label in self.holds_back:
            return
        if label in self.fails:
            self.api.patch_status(path, {'phase': 'Failed', 'reason': 'Evicted', 'message': 'no room here'})
            return
        self.api.patch_status(path, {
            'phase': 'Running', 'podIP': '127.0.0.1', 'hostIP': '127.0.0.1',
            'conditions': [{'type': 'Ready', 'status': 'True'}]})

    def stop(self):
        self.ended.set()
        self.join()
