import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecSystemCollectionsTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(now: { 7 }, wallClock: { 1_795_244_400_123 }))
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
  }

  private func rows(_ text: String) throws -> [[TextKey: Value]] {
    try engine.execute(text).rows.map { try $0.values() }
  }

  private func metric(_ name: String) throws -> Value? {
    try rows("SELECT value FROM system:metrics WHERE _id = '\(name)'").first?["value"]
  }

  @Test func `metrics count what was executed`() throws {
    #expect(try metric("requests_completed") == .int(1))
    #expect(throws: QueryError.self) { try engine.execute("SELECT :p FROM t") }
    #expect(try metric("requests_failed") == .int(1))
    _ = try engine.execute("SELECT * FROM t")
    #expect(try metric("request_rows") == .int(4))
    let parsed = try #require(try metric("statements_parsed"))
    #expect(try metric("statements_parsed") == parsed)
    #expect(try metric("statements_shared") != .int(0))
  }

  @Test func `vitals are one document of how things stand`() throws {
    let vitals = try rows("SELECT * FROM system:vitals")
    #expect(vitals.count == 1)
    #expect(vitals[0]["documents"] == .int(2) && vitals[0]["collections"] == .int(1))
    #expect(vitals[0]["takes_writes"] == .bool(true) && vitals[0]["active_requests"] == .int(1))
    #expect(vitals[0]["_id"] == .string("\(store.site)"))
    let counted = try store.write { transaction in
      try engine.execute(DQL.parse("SELECT documents FROM system:vitals"), in: transaction).rows.count
    }.0
    #expect(counted == 1)
  }

  @Test func `system_info says what is stored, set and told by layers above, and when`() throws {
    engine.providers.provideFacts {
      [["namespace": .string("sync"), "key": .string("local_subscriptions"), "value": .array([])]]
    }
    _ = try engine.execute("ALTER SYSTEM SET dql_request_timeout_seconds = 9")
    let facts = try rows("SELECT * FROM system:system_info")
    func value(_ key: String) -> Value? { facts.first { $0["key"] == .string(key) }?["value"] }
    #expect(value("collection_num_docs[t]") == .int(2))
    #expect(value("non_default_system_parameter[dql_request_timeout_seconds]") == .int(9))
    #expect(value("local_subscriptions") == .array([]))
    #expect(value("fs_usage_total_bytes") != nil && value("site") == .string("\(store.site)"))
    for fact in facts {
      guard case .string(let time)? = fact["timestamp"] else {
        Issue.record("no time in \(fact)")
        continue
      }
      expect(time.hasPrefix("2026-11-21T07:00:00.123"))
    }
  }

  @Test func `connections are what the layer above tells of them`() throws {
    #expect(try rows("SELECT * FROM system:data_sync_info").isEmpty)
    engine.providers.provideConnections { [["_id": .string("a")], ["_id": .string("b")]] }
    #expect(try rows("SELECT * FROM system:data_sync_info WHERE _id = 'b'").count == 1)
    #expect(try rows("SELECT connections FROM system:vitals")[0]["connections"] == .int(2))
  }

  @Test func `collections have an older name and a newer one`() throws {
    for name in ["system:collections", "system:all_collections", "__collections"] {
      try expectEqual(rows("SELECT name FROM \(name)").map { $0["name"] }, [.string("t")])
    }
  }

  // MARK: - Directives

  private func scan(_ statement: String) throws -> Value? {
    guard case .array(let steps)? = try rows("EXPLAIN " + statement)[0]["plan"],
      case .map(let first)? = steps.first
    else { return nil }
    return first["operator"]
  }

  @Test func `default directives advise what advises nothing itself`() throws {
    _ = try engine.execute("CREATE INDEX by_n ON t (n)")
    let statements = [
      "SELECT * FROM t WHERE n = 1", "UPDATE t SET x = 1 WHERE n = 1", "DELETE FROM t WHERE n = 1",
      "INSERT INTO u SELECT n FROM t WHERE n = 1",
    ]
    let prepared = try engine.prepare(statements[0])
    func run() throws -> Int { try engine.execute(prepared).rows.count }
    #expect(try run() == 1)
    for statement in statements { try expectEqual(scan(statement), .string("indexScan")) }
    _ = try engine.execute("ALTER SYSTEM SET DQL_DEFAULT_DIRECTIVES = {'#index': ''}")
    #expect(try run() == 1 && prepared.planCount == 2)
    for statement in statements {
      try expectEqual(
        scan(statement), .string("collectionScan"), "\(statement)")
    }
    #expect(try scan("SELECT * FROM t USE INDEX 'by_n' WHERE n = 1") == .string("indexScan"))
    _ = try engine.execute("ALTER SYSTEM RESET dql_default_directives")
    #expect(try scan(statements[0]) == .string("indexScan"))
    for value in ["1", "'x'", "{'#index': 3}", "{'#max_scans': -1}"] {
      let error = try #require(throws: QueryError.self) {
        try engine.execute("ALTER SYSTEM SET dql_default_directives = \(value)")
      }
      expectEqual(error.code, .argument)
    }
  }

  @Test(arguments: [
    ("DAYS_BETWEEN_REAPING", "tombstone_ttl_hours"), ("tombstone_reap_batch_size", "tombstone_ttl_hours"),
    ("transaction_duration_before_logging_ms", "dql_slow_request_warn_seconds"),
    ("dql_restrict_subscription", "dql_restrict_subscriptions"),
    ("dql_request_timeout_second", "dql_request_timeout_seconds"),
  ])
  func `a parameter of the model product that is none here names the one that does its work`(
    name: String, substitute: String
  ) throws {
    for statement in ["SHOW \(name)", "ALTER SYSTEM SET \(name) = 1", "ALTER SYSTEM RESET \(name)"] {
      let error = try #require(throws: QueryError.self) { try engine.execute(statement) }
      expect(error.code == .unknownParameter && error.expected == [substitute], "\(error)")
      expect(
        error.message.contains("'\(name.lowercased())'") && error.message.contains(substitute), "\(error)")
    }
  }

  @Test(arguments: [
    ("disable_replication_gc_on_evict", "an eviction leaves nothing behind"),
    ("PEER_CERTIFICATE_REVOCATION_CHECK_ENABLED", "'bigpeer revoke'"),
    ("tcp_server_bind_mdns_server_port", "DunlinTransportConfig.listen.tcp.port"),
    ("TRANSPORTS_DISCOVERED_PEERS", "DunlinTransportConfig.connect.tcpServers"),
    ("avoid_redundant_bluetooth", "DunlinTransportConfig"),
    ("mesh_chooser_avoid_redundant_bluetooth", "DunlinTransportConfig"),
    ("mesh_chooser_max_wlan_clients", "DunlinTransportConfig"),
    ("ROTATING_LOG_FILE_MAX_SIZE_MB", "DunlinConfiguration.logger"),
  ])
  func `a parameter of the model product that is a setting here names the setting`(
    name: String, setting: String
  ) throws {
    for statement in ["SHOW \(name)", "ALTER SYSTEM SET \(name) = 1", "ALTER SYSTEM RESET \(name)"] {
      let error = try #require(throws: QueryError.self) { try engine.execute(statement) }
      expect(error.code == .unknownParameter && error.expected.isEmpty, "\(error)")
      expect(error.message.contains("'\(name.lowercased())'") && error.message.contains(setting), "\(error)")
    }
    let page = try LanguagePage("QueryLanguage")
    let family = name.lowercased().split(separator: "_").prefix(2).joined(separator: "_")
    #expect(
      page.tableRows.contains { row in
        row[0].contains("`\(name.lowercased())`") || row[0].contains("`\(family)_")
      })
  }
}
