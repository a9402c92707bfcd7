#if Server
  /// The descriptions of the big peer's figures, by name, for `/metrics`.
  package enum FigureHelp {
    /// One sentence for each figure.
    package static let texts: [String: String] = [
      "bigpeer_http_requests_total": "Requests answered by the HTTP API.",
      "bigpeer_http_answers_broken_total": "Answers that ended before their end.",
      "bigpeer_http_request_seconds": "Time from a request's headers to its answer's end.",
      "bigpeer_http_requests_in_flight": "Requests that are being answered.",
      "bigpeer_http_connections": "Open connections of the HTTP API.",
      "bigpeer_http_connections_refused_total": "Connections that there was no room for.",
      "bigpeer_http_memory_bytes": "Memory that requests of the HTTP API hold, by what for.",
      "bigpeer_reloads_total": "Reloads of configuration, certificates and keys, by how they have ended.",
      "bigpeer_certificate_end_seconds": "End of a certificate since 1970, by its use.",
      "bigpeer_application_served": "Whether the application could be opened.",
      "bigpeer_devices": "Devices that are connected.",
      "bigpeer_device_lag_commits": "Commits that the device furthest behind lacks.",
      "bigpeer_connected_documents_sent": "Documents sent to devices that are connected.",
      "bigpeer_connected_documents_received": "Documents received from devices that are connected.",
      "bigpeer_documents": "Documents in the store.",
      "bigpeer_commits_total": "Commits of the store.",
      "bigpeer_store_file_bytes": "Size of the data file.",
      "bigpeer_store_used_bytes": "Bytes of it in use.",
      "bigpeer_store_map_bytes": "Size to which the data file may grow.",
      "bigpeer_store_waiting_writers": "Writers that wait for their turn.",
      "bigpeer_store_failed": "Whether the store takes no writes any more.",
      "bigpeer_store_full": "Whether the last write that needed room found none.",
      "bigpeer_api_keys": "API keys.",
      "bigpeer_login_requests_total": "Requests of logins, by how they have ended.",
      "bigpeer_webhooks": "Webhooks of the change feed, by how they stand.",
      "bigpeer_webhook_deliveries_total": "Deliveries that the webhooks there are have acknowledged.",
      "bigpeer_webhook_failures": "Attempts that have failed since each webhook's last delivery.",
      "bigpeer_subscriptions": "What is pulled from devices.",
      "bigpeer_collections_not_pulled":
        "Collections that are not pulled from devices, since there are too many.",
      "process_start_time_seconds": "Start of the process since 1970.",
      "process_resident_memory_bytes": "Memory that the process has in use.",
      "process_open_fds": "Files and sockets that are open.",
      "process_cpu_seconds_total": "Processor time that was used.",
    ]
  }
#endif
