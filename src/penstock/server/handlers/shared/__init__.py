"""Parts that handlers are made of: common to several, or too large for the module of one."""
