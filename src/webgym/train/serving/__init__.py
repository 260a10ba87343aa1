"""Model servers: an embedded one for small models, vLLM and servers of others behind one interface (`endpoint`)."""
