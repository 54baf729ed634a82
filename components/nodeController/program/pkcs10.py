# Strict reader of the certificate requests that kubelets make (RFC 2986, DER). The danger is to read something else than
# the API server and its signer do, so every liberty of the format is refused. The API server checks the signature.
import base64
import binascii
import re
from typing import NamedTuple

LIMIT = 8192
COMMON_NAME, ORGANIZATION = bytes.fromhex("550403"), bytes.fromhex("55040a")
EXTENSION_REQUEST, ALTERNATIVE_NAMES = bytes.fromhex("2a864886f70d01090e"), bytes.fromhex("551d11")
SEQUENCE, SET, OID, INTEGER, BITS, OCTETS = 0x30, 0x31, 0x06, 0x02, 0x03, 0x04
TEXTS = (0x0C, 0x13)
LABEL = b"CERTIFICATE REQUEST-----"
PEM = re.compile(b"-----BEGIN " + LABEL + rb"\n([A-Za-z0-9+/=\n]+)-----END " + LABEL + rb"\n?")


class Subject(NamedTuple):
    name: str
    organizations: tuple
    dns: tuple = ()
    addresses: tuple = ()


class Malformed(ValueError):
    pass


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def byte(self):
        if not self.more():
            raise Malformed("cut off")
        self.at += 1
        return self.data[self.at - 1]

    def any(self):
        tag, length = self.byte(), self.byte()
        if length > 0x80:
            count = length - 0x80
            if count > 2:
                raise Malformed("length")
            length = int.from_bytes(bytes(self.byte() for _ in range(count)), "big")
            if length < 0x80 or (count == 2 and length < 0x100):
                raise Malformed("length is not minimal")
        elif length == 0x80:
            raise Malformed("indefinite length")
        if self.at + length > len(self.data):
            raise Malformed("cut off")
        self.at += length
        return tag, self.data[self.at - length : self.at]

    def one(self, *tags):
        tag, content = self.any()
        if tag not in tags:
            raise Malformed(f"tag {tag:#x}")
        return content

    def end(self):
        if self.more():
            raise Malformed("trailing bytes")


def alone(data, *tags):
    reader = Reader(data)
    content = reader.one(*tags)
    reader.end()
    return content


def text(data):
    found = data.decode("ascii", "replace")
    if not (found.isascii() and found.isprintable()):
        raise Malformed("text")
    return found


def subject(data):
    names, organizations = [], []
    reader = Reader(data)
    while reader.more():
        pair = Reader(alone(reader.one(SET), SEQUENCE))
        kind, value = pair.one(OID), text(pair.one(*TEXTS))
        pair.end()
        if kind == COMMON_NAME:
            names.append(value)
        elif kind == ORGANIZATION:
            organizations.append(value)
        else:
            raise Malformed("subject")
    if len(names) != 1:
        raise Malformed("common name")
    return names[0], tuple(organizations)


def address(data):
    if len(data) == 4:
        return ".".join(str(byte) for byte in data)
    if len(data) == 16:
        return ":".join(f"{int.from_bytes(data[at : at + 2], 'big'):x}" for at in range(0, 16, 2))
    raise Malformed("address")


def alternative_names(data):
    dns, addresses = [], []
    reader = Reader(alone(data, SEQUENCE))
    while reader.more():
        tag, value = reader.any()
        if tag == 0x82:
            dns.append(text(value))
        elif tag == 0x87:
            addresses.append(address(value))
        else:
            raise Malformed("kind of name")
    return tuple(dns), tuple(addresses)


def extensions(data):
    # Attributes: none, or one request for one extension, the alternative names.
    if not data:
        return (), ()
    attribute = Reader(alone(data, SEQUENCE))
    if attribute.one(OID) != EXTENSION_REQUEST:
        raise Malformed("attribute")
    wanted = alone(attribute.one(SET), SEQUENCE)
    attribute.end()
    extension = Reader(alone(wanted, SEQUENCE))
    if extension.one(OID) != ALTERNATIVE_NAMES:
        raise Malformed("extension")
    tag, value = extension.any()
    if tag == 0x01:
        if value != b"\xff":
            raise Malformed("critical")
        tag, value = extension.any()
    extension.end()
    if tag != OCTETS:
        raise Malformed("extension")
    return alternative_names(value)


def read(pem):
    # One PEM block and nothing around it.
    block = PEM.fullmatch(pem) if len(pem) <= LIMIT else None
    if block is None:
        raise Malformed("not one PEM block")
    try:
        data = base64.b64decode(block[1].replace(b"\n", b""), validate=True)
    except binascii.Error:
        raise Malformed("base64") from None
    outer = Reader(alone(data, SEQUENCE))
    info = Reader(outer.one(SEQUENCE))
    outer.one(SEQUENCE)
    outer.one(BITS)
    outer.end()
    if info.one(INTEGER) != b"\x00":
        raise Malformed("version")
    name, organizations = subject(info.one(SEQUENCE))
    info.one(SEQUENCE)
    attributes = info.one(0xA0)
    info.end()
    return Subject(name, organizations, *extensions(attributes))
