"""The authorizer that the broker's settings ask for, kept up to date with cluster metadata."""

from penstock.cluster.controller import Controller
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.config.property import ConfigError
from penstock.config.settings.security import (
    ALLOW_EVERYONE_IF_NO_ACL_FOUND,
    AUTHORIZER_CLASS_NAME,
    SUPER_USERS,
)
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER, AclAuthorizer, parse_super_users
from penstock.security.authorizer import Authorizer


def make_authorizer(controller: Controller) -> Authorizer:
    """Raises `ConfigError` when the settings name an unknown authorizer."""
    config = controller.config
    name = config[AUTHORIZER_CLASS_NAME]
    if not name:
        return Authorizer()
    if name != STANDARD_AUTHORIZER:
        raise ConfigError(
            f"authorizer.class.name={name} is not known: leave it empty, or set {STANDARD_AUTHORIZER}"
        )
    try:
        super_users = parse_super_users(config[SUPER_USERS])
    except ValueError as error:
        raise ConfigError(str(error)) from error
    authorizer = AclAuthorizer(
        super_users=super_users, allow_everyone_if_no_acl_found=config[ALLOW_EVERYONE_IF_NO_ACL_FOUND]
    )

    def follow(delta: MetadataDelta) -> None:
        if delta.acls_changed:
            authorizer.follow(controller.image.acls, delta.acls_changed)

    controller.subscribe(follow)
    return authorizer
