"""Certificates generated for tests: an authority, and the certificates that it issues."""

import datetime as dt
import ipaddress
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

_BEGAN = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_ENDS = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


class Certificate(msgspec.Struct, frozen=True):
    """A certificate with its key."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        ).decode()

    def write(self, path: Path, password: str | None = None) -> Path:
        """Key and certificate in one file, as `ssl.keystore.location` has them."""
        path.write_text(self.key_pem(password) + self.pem)
        return path

    def write_certificate(self, path: Path) -> Path:
        path.write_text(self.pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        encryption = serialization.BestAvailableEncryption(password.encode())
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(b"key", self.key, self.certificate, None, encryption)
        )
        return path

    def issue(self, *subject: tuple[x509.ObjectIdentifier, str], name: str = "localhost") -> "Certificate":
        """A certificate for a broker at 127.0.0.1 or a client; `subject` is its name, outermost part first."""
        return _signed(self, x509.Name([x509.NameAttribute(*each) for each in subject or _of(name)]))


def authority(name: str = "Test Authority") -> Certificate:
    return _signed(None, x509.Name([x509.NameAttribute(*each) for each in _of(name)]))


def _of(name: str) -> list[tuple[x509.ObjectIdentifier, str]]:
    return [(NameOID.COMMON_NAME, name)]


def _signed(issuer: Certificate | None, subject: x509.Name) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BEGAN)
        .not_valid_after(_ENDS)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer is None:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    else:
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
        builder = builder.add_extension(identifier, critical=False)
    return Certificate(key, builder.sign(key if issuer is None else issuer.key, hashes.SHA256()))
