# Requests as kubelets and others make them, without keys: the API server checks signatures, the reader none.
import base64
import json
import os
import sys
import time

PROGRAM = os.environ.get("PROGRAM") or os.path.join(os.path.dirname(__file__), "../../components/nodeController/program")
sys.path.insert(0, PROGRAM)
sys.dont_write_bytecode = True

from machines import Machine  # noqa: E402


# What the page may say: as JSON Schema has it, and no field more.
with open(os.path.join(os.path.dirname(__file__), "../../components/nodeController/page.schema.json")) as file:
    PAGE = json.load(file)
FORMS = {"string": str, "integer": int, "number": (int, float), "array": list, "object": dict}


def misfits(schema, value, path=""):
    if not isinstance(value, FORMS[schema["type"]]) or isinstance(value, bool):
        return [f"{path} is {value!r}"]
    if isinstance(value, list):
        long = [f"{path} is too long"] * (len(value) > schema.get("maxItems", len(value)))
        return long + told((schema["items"], f"{path}[]", each) for each in value)
    if isinstance(value, dict):
        own, more = schema.get("properties", {}), schema.get("additionalProperties")
        missing = [f"{path}.{name} is missing" for name in schema.get("required", ()) if name not in value]
        return missing + told((own.get(name, more), f"{path}.{name}", each) for name, each in value.items())
    return [f"{path} is {value}"] * (isinstance(value, (int, float)) and value < schema.get("minimum", value))


def told(parts):
    return [problem for schema, path, value in parts for problem in (misfits(schema, value, path) if schema else [f"{path} is not described"])]


def der(tag, *parts):
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x81, size]) if size < 256 else bytes([0x82, size >> 8, size & 255])
    return bytes([tag]) + length + content


def oid(text):
    return der(6, bytes.fromhex(text))


def named(kind, text, tag=0x0C):
    return der(0x31, der(0x30, oid(kind), der(tag, text.encode())))


def name(node, organization="system:nodes"):
    return named("55040a", organization, 0x13) + named("550403", node, 0x13)


def alternatives(dns=(), addresses=(), more=b""):
    names = [der(0x82, each.encode()) for each in dns]
    names += [der(0x87, bytes(int(part) for part in each.split("."))) for each in addresses]
    return der(0x30, oid("2a864886f70d01090e"), der(0x31, der(0x30, der(0x30, oid("551d11"), der(4, der(0x30, *names, more))))))


def csr(subject, attributes=b"", version=b"\0", after=b"", inside=b""):
    info = der(0x30, der(2, version), der(0x30, subject), der(0x30, b"\5\0"), der(0xA0, attributes), inside)
    return der(0x30, info, der(0x30, b"\5\0"), der(3, b"\0\1")) + after


def pem(data):
    text = base64.b64encode(data).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE REQUEST-----", *lines, "-----END CERTIFICATE REQUEST-----", ""]).encode()


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def tokens(*pools):
    # Groups of a join secret's token: of a pool's, or of the one that all shared.
    return ["system:bootstrappers:fenestra:workers", *(f"system:bootstrappers:fenestra:pool:{each}" for each in pools)]


def item(kind, node, at, number=1, dns=(), addresses=(), request=None, **spec):
    # A CertificateSigningRequest as the API gives it.
    first = kind == "first"
    serving = kind == "serving"
    attributes = alternatives(dns, addresses) if dns or addresses else b""
    return {
        "metadata": {"name": f"csr-{number}", "uid": f"uid-{number}", "resourceVersion": str(number), "creationTimestamp": stamp(at)},
        "spec": {
            "username": "system:bootstrap:abcdef" if first else f"system:node:{node}",
            "groups": [*(tokens("linux") if first else ["system:nodes"]), "system:authenticated"],
            "signerName": "kubernetes.io/kubelet-serving" if serving else "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "server auth" if serving else "client auth"],
            "request": base64.b64encode(request or pem(csr(name(f"system:node:{node}"), attributes))).decode(),
            **spec,
        },
        "status": {},
    }


def machine(number, pool="c-linux", state="running", made=0.0, **more):
    id = f"i-{number:017x}"
    own = {"names": frozenset({id, f"{id}.eu.compute.internal"}), "addresses": frozenset({f"10.0.{number // 250}.{number % 250}"})}
    return Machine(id, id, pool, state, made, **{"zone": "a", "version": "lt:1", **own, **more})


def refusal(status, message):
    return status, {"kind": "Status", "message": message, "code": status}


def node_item(node):
    ready = {"type": "Ready", "status": "True" if node.ready else "Unknown", "lastTransitionTime": stamp(node.since)}
    return {"metadata": {"name": node.name, "uid": node.uid, "creationTimestamp": stamp(node.made)}, "status": {"conditions": [ready]}}


class Answer:
    # Of http.client.
    will_close = False

    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data

    def isclosed(self):
        return True

    def read(self, _limit=None):
        return self.data

    def readline(self, _limit=None):
        line, end, self.data = self.data.partition(b"\n")
        return line + end
