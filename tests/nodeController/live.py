# The controller's client of a real API server, as an administrator who may take any identity.
import base64
import json
import ssl
import subprocess
import time

import support  # noqa: F401
from api import CSRS, KINDS, Api
from machines import Listing, Pool, Trouble
from web import Web

FIRST = ["system:bootstrappers:fenestra:workers", "system:bootstrappers:fenestra:pool:linux"]
# What only an administrator asks for.
KINDS |= {"clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding", "serviceaccounts": "ServiceAccount"}


class Clock:
    wall, own = staticmethod(time.time), staticmethod(time.monotonic)


class Tokened(Web):
    def __init__(self, token, *rest):
        super().__init__(*rest)
        self.token = token

    def open(self, method, path, headers=None, body=None):
        return super().open(method, path, {**(headers or {}), "Authorization": f"Bearer {self.token}"}, body)


class OwnApi(Api):
    def __init__(self, origin, token, timeout=30.0):
        super().__init__(origin, "", timeout)
        self.token = token

    # The server's certificate is its own.
    def web(self, timeout=None, silence=None):
        return Tokened(self.token, self.origin, ssl._create_unverified_context(), timeout or self.timeout, silence)


class Cloud:
    names_return, pause, cluster, date = False, 5.0, "c", 0.0

    def __init__(self, count):
        made = time.time() - 60
        self.machines = tuple(support.machine(number, made=made) for number in range(1, count + 1))

    def list(self, at):
        return Listing(self.machines, {"c-linux": Pool("c-linux", len(self.machines))}, (), at)

    def roll(self, pool):
        return pool

    def settle(self, listing, owed):
        return {}, []


def let_nodes(api):
    # In place of the Node authorizer, which this server has not.
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node"}
    try:
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        api.post(path, {"metadata": {"name": "nodes"}, "roleRef": role, "subjects": [group]})
    except Trouble as error:
        if error.status != 409:
            raise


def signed(node, *options, organization="system:nodes"):
    # The API server checks the signature.
    made = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "/dev/null"]
    subject = ["-subj", f"/O={organization}/CN=system:node:{node}"]
    return base64.b64encode(subprocess.run([*made, *options, *subject], capture_output=True, check=True).stdout).decode()


def body(kind, node, request, meta=None, **spec):
    serving = kind == "serving"
    given = {
        "request": request,
        "signerName": "kubernetes.io/kubelet-serving" if serving else "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "server auth" if serving else "client auth"],
        **spec,
    }
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"} if meta is None else meta,
        "spec": given,
    }


def sent(web, kind, node, what):
    # As that node, or with its pool's token.
    first = kind == "first"
    user = "system:bootstrap:abcdef" if first else f"system:node:{node}"
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Impersonate-User": user}
    text = json.dumps(what, ensure_ascii=False).encode()
    parts = [("Impersonate-Group", each) for each in (FIRST if first else ["system:nodes"])]
    web.until = time.monotonic() + web.timeout
    web.connection = web.connection or web.connect()
    web.connection.putrequest("POST", CSRS)
    for name, value in [*headers.items(), *parts, ("Authorization", f"Bearer {web.token}"), ("Content-Length", str(len(text)))]:
        web.connection.putheader(name, value)
    web.connection.endheaders(text)
    answer = web.connection.getresponse()
    return answer.status, json.loads(answer.read())
