"""JSON-RPC 2.0 over descriptors, shared by the front ends that speak it; knows no method and no host."""
