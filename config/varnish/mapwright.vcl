vcl 4.1;

# Varnish 6.5 or newer with varnish-modules (xkey, var), in front of Mapwright:
#
#     varnishd -f /path/to/mapwright.vcl -a :6081 -s malloc,1G
#     MAPWRIGHT_EDGE_KIND=varnish MAPWRIGHT_EDGE_URLS=http://127.0.0.1:6081 MAPWRIGHT_TRUSTED_PROXIES=127.0.0.1 \
#         mapwright serve
#
# Its machines are in nodes.vcl beside this file.
#
# Public answers are kept for long; Mapwright tells Varnish which of them an edit has made old, and every five seconds that it
# was told of all. When that has not been heard for a minute (below), Varnish asks for everything.

import directors;
import std;
import var;
import xkey;

include "./nodes.vcl";

sub vcl_recv {
    # Ours alone.
    unset req.http.mapwright-purge;
    unset req.http.mapwright-dropped;

    set req.backend_hint = ready_nodes.backend();
    if (!std.healthy(req.backend_hint)) {
        # None is ready, as when the database is away: what they have cached is shown.
        set req.backend_hint = live_nodes.backend();
    }

    if (req.method == "PURGE") {
        # Somebody whom another proxy on this machine lets through has a second address here.
        if (client.ip !~ mapwright || req.http.X-Forwarded-For ~ ",") {
            return (synth(403, "Forbidden"));
        }
        if (req.http.mapwright-told) {
            var.global_set("mapwright-told", "" + now);
            return (synth(200, "Noted"));
        }
        # What is being fetched now was asked for before the change.
        var.global_set("mapwright-purge", req.xid);
        # Nothing but what Mapwright has named: other sites may be served from here, too.
        if (req.http.mapwright-forgotten) {
            set req.http.mapwright-dropped = xkey.purge(req.http.mapwright-forgotten);
            return (synth(200, "Dropped"));
        }
        # Soft: what has not changed after all is asked for by its ETag, and not loaded again.
        set req.http.mapwright-dropped = xkey.softpurge(req.http.mapwright-keys);
        return (synth(200, "Dropped"));
    }

    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    # Events of changes do not end.
    if (req.url ~ "^[^?]*/changes/") {
        return (pipe);
    }
    # Whoever says who he is may see something else.
    if (req.http.Authorization || req.http.X-Token || req.url ~ "[?&](token|key)=") {
        return (pass);
    }
    # Nothing depends on cookies.
    unset req.http.Cookie;
    # An edit may have come that Mapwright could not tell. The clock may have been set back, too.
    if (std.time(var.global_get("mapwright-told"), now - 1d) + 60s < now
        || std.time(var.global_get("mapwright-told"), now - 1d) > now + 5s) {
        # While no machine can be reached, nobody edits by it: for an hour what is kept is shown.
        if (std.healthy(req.backend_hint) || std.time(var.global_get("mapwright-told"), now - 1d) + 1h < now) {
            return (pass);
        }
    }
    return (hash);
}

# Addresses in answers are those by which the client says that it came: nobody else is given his.
sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);
    hash_data(req.http.X-Forwarded-Host);
    hash_data(req.http.X-Forwarded-Prefix);
}

sub vcl_pipe {
    set bereq.http.Connection = "close";
}

sub vcl_backend_fetch {
    # Of tiles, whose drawing has a deadline. Imports and exports may work for long before they answer.
    set bereq.first_byte_timeout = 60s;
    set bereq.between_bytes_timeout = 60s;
    set bereq.http.mapwright-purge = var.global_get("mapwright-purge");
    set bereq.http.mapwright-asked = now;
    if (bereq.url !~ "^/tms/") {
        set bereq.first_byte_timeout = 3600s;
        set bereq.between_bytes_timeout = 3600s;
    }
}

sub vcl_backend_response {
    if (beresp.http.Surrogate-Key) {
        set beresp.http.xkey = beresp.http.Surrogate-Key;
        # An answer that an edit has made old is never shown; it is kept for its ETag.
        set beresp.grace = 0s;
        set beresp.keep = 1d;
        if (bereq.http.mapwright-purge != var.global_get("mapwright-purge")) {
            # Something was dropped meanwhile, perhaps this.
            set beresp.ttl = 0s;
        }
    } else {
        # Nobody would drop it.
        set beresp.grace = 0s;
        set beresp.uncacheable = true;
        set beresp.ttl = 10s;
    }
    return (deliver);
}

# What one machine refuses goes to another, unless it might be done twice.
sub vcl_backend_error {
    if (bereq.retries < 1 && (bereq.method == "GET" || bereq.method == "HEAD")
        && std.time(bereq.http.mapwright-asked, now) + 3s > now) {
        return (retry);
    }
}

sub vcl_deliver {
    unset resp.http.xkey;
    unset resp.http.Surrogate-Key;
    # No other cache on the way is told what to drop.
    if (resp.http.Cache-Control ~ "s-maxage") {
        set resp.http.Cache-Control = "public, max-age=0, must-revalidate";
        unset resp.http.Age;
    }
    set resp.http.X-Cache = regsub(obj.hits, "^0$", "miss");
    if (resp.http.X-Cache != "miss") {
        set resp.http.X-Cache = "hit";
    }
}

sub vcl_synth {
    if (req.http.mapwright-dropped) {
        set resp.http.Mapwright-Dropped = req.http.mapwright-dropped;
    }
    set resp.http.Content-Type = "text/plain; charset=utf-8";
    set resp.body = resp.reason;
    return (deliver);
}
