# Where Mapwright runs, for mapwright.vcl beside this file. Of several machines each has its two backends here, its lines in
# vcl_init, and its address among those that may tell Varnish what has changed.

probe ready {
    .request = "GET /health/ready HTTP/1.1" "Host: mapwright" "Connection: close";
    .interval = 2s;
    .timeout = 2s;
    .window = 2;
    .threshold = 1;
    .initial = 1;
}

probe live {
    .request = "GET /health/live HTTP/1.1" "Host: mapwright" "Connection: close";
    .interval = 2s;
    .timeout = 2s;
    .window = 2;
    .threshold = 1;
    .initial = 1;
}

backend node1 {
    .host = "127.0.0.1";
    .port = "8080";
    .connect_timeout = 2s;
    .probe = ready;
}

backend node1_live {
    .host = "127.0.0.1";
    .port = "8080";
    .connect_timeout = 2s;
    .probe = live;
}

sub vcl_init {
    new ready_nodes = directors.round_robin();
    ready_nodes.add_backend(node1);

    new live_nodes = directors.round_robin();
    live_nodes.add_backend(node1_live);
}

acl mapwright {
    "localhost";
    "127.0.0.1";
    "::1";
}
