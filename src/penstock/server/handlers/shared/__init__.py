"""Parts of handlers: common to several, or too large for the handler's module."""
