#if Server
  import Facade
  import Foundation
  import SyncProtocol
  import Transports

  /// The figures of one application.
  struct ApplicationFigures {
    private let id: String
    private let statistics: DunlinStatistics?
    private let standings: [PeerSyncState]
    private let application: HostedApplication

    init(_ application: HostedApplication) {
      id = application.id
      self.application = application
      statistics = try? application.dunlin.store.statistics()
      standings = application.parts.network.standings.filter(\.isConnected)
    }

    /// All figures of the application; figures that are not available now are left out.
    var samples: [SampledFigures.Sample] { store + sync + webhooks + logins + certificates }

    private func gauge(_ name: String, _ value: Double, _ label: (String, String)? = nil)
      -> SampledFigures.Sample
    {
      .init(
        name: name, kind: .gauge, value: value,
        labels: [("application", id)] + [label].compactMap(\.self))
    }

    private func counter(_ name: String, _ value: Double, _ label: (String, String)? = nil)
      -> SampledFigures.Sample
    {
      .init(
        name: name, kind: .counter, value: value,
        labels: [("application", id)] + [label].compactMap(\.self))
    }

    private var store: [SampledFigures.Sample] {
      let keys = gauge("bigpeer_api_keys", Double(application.keys.all.count))
      guard let statistics else { return [keys, gauge("bigpeer_store_failed", 1)] }
      return [
        keys, gauge("bigpeer_store_failed", statistics.failure == nil ? 0 : 1),
        gauge("bigpeer_store_full", statistics.shortage == nil ? 0 : 1),
        gauge("bigpeer_documents", Double(statistics.documentCount)),
        counter("bigpeer_commits_total", Double(statistics.sequence)),
        gauge("bigpeer_store_file_bytes", Double(statistics.fileBytes)),
        gauge("bigpeer_store_used_bytes", Double(statistics.usedBytes)),
        gauge("bigpeer_store_map_bytes", Double(statistics.mapBytes)),
        gauge("bigpeer_store_waiting_writers", Double(statistics.waitingWriters)),
      ]
    }

    private var sync: [SampledFigures.Sample] {
      func sum(_ value: (PeerSyncState) -> Int) -> Double { standings.reduce(0) { $0 + Double(value($1)) } }
      let sequence = statistics?.sequence ?? 0
      let lag = standings.compactMap { standing -> UInt64? in
        guard !standing.delivery.pullsNothing, let served = standing.delivery.servedSequence else {
          return nil
        }
        return sequence - min(served, sequence)
      }.max()
      return [
        gauge("bigpeer_devices", Double(standings.count)),
        gauge(
          "bigpeer_connected_documents_sent", sum { Int(clamping: $0.connection.statistics.documentsSent) }),
        gauge(
          "bigpeer_connected_documents_received",
          sum { Int(clamping: $0.connection.statistics.documentsReceived) }),
        gauge("bigpeer_subscriptions", Double(application.dunlin.sync.subscriptions.count)),
        gauge("bigpeer_collections_not_pulled", Double(application.missingCollectionCount)),
      ] + [lag].compactMap(\.self).map { gauge("bigpeer_device_lag_commits", Double($0)) }
    }

    private var webhooks: [SampledFigures.Sample] {
      let all = application.feed.webhooks.all.map(\.progress)
      return [
        counter("bigpeer_webhook_deliveries_total", all.reduce(0) { $0 + Double($1.deliveries) }),
        gauge("bigpeer_webhook_failures", all.reduce(0) { $0 + Double($1.failures) }),
      ]
        + [WebhookProgress.State.active, .retrying, .paused].map { state in
          gauge("bigpeer_webhooks", Double(all.count { $0.state == state }), ("state", state.rawValue))
        }
    }

    private var certificates: [SampledFigures.Sample] {
      application.certificateEnds.map { use, end in
        gauge("bigpeer_certificate_end_seconds", end.timeIntervalSince1970, ("use", use))
      }
    }

    private var logins: [SampledFigures.Sample] {
      guard let figures = application.logins.endpoint?.figures else { return [] }
      return LoginOutcome.allCases.map {
        counter("bigpeer_login_requests_total", Double(figures[$0] ?? 0), ("outcome", $0.rawValue))
      }
    }
  }
#endif
