#pragma once

namespace freshet {

/// What every TCP connection gets, as far as the system lets it: no delay of small writes,
/// keepalive within 25 s, and an end after 15 s in which bytes were sent and nobody acknowledged
/// them (keepalive is silent meanwhile).
void set_connection_options(int socket);

}  // namespace freshet
