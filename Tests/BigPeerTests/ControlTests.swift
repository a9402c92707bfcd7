#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import PeerControl
  import TestKit
  import Testing

  /// The control socket in the data directory of a big peer.
  @Suite struct ControlTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func configuration() -> BigPeerConfiguration {
      var configuration = RunningBigPeer.configuration(in: folder)
      var second = configuration.applications[0]
      second.id = "second"
      second.folder = folder.file("applications/second")
      configuration.applications.append(second)
      return configuration
    }

    /// The rows of a statement that a peer executes.
    private static func rows(_ statement: String, _ peer: RunningPeer) throws -> [Value] {
      var rows: [Value] = []
      try peer.ask("query", ["query": .string(statement)]) { rows += $0["rows"].flatMap(\.list) ?? [] }
      return rows
    }

    @Test func `one socket answers for all applications, chosen by id or by the store's directory`()
      async throws
    {
      let configuration = configuration()
      let data = configuration.data
      let stores = configuration.applications.map { "\($0.folder)/store" }
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api(application: "second")
        _ = try await api.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try await offTasks {
          let all = try #require(try RunningPeer.applications(in: data))
          #expect(all.map(\.id) == ["default", "second"])
          #expect(all.map(\.store) == stores)
          let second = try #require(try RunningPeer.of(store: data, application: "second"))
          let status = try second.ask("status")
          #expect(status["app"] == .string("second"))
          #expect(status["documents"] == .int(1))
          #expect(try Self.rows("SELECT * FROM cars", second).count == 1)
          let first = try #require(try RunningPeer.of(store: stores[0]))
          let own = try first.ask("status")
          #expect(own["app"] == .string("default"))
          #expect(try Self.rows("SELECT * FROM cars", first) == [])
          // What is written there is a write like any other.
          _ = try Self.rows("INSERT INTO cars DOCUMENTS ({'_id': 'b'})", first)
          #expect(try Self.rows("SELECT * FROM cars", first).count == 1)
          let none = #expect(throws: PeerError.self) { try RunningPeer.of(store: data) }
          #expect(none?.description.contains("--application: default, second") == true, "\(none as Any)")
          let unknown = #expect(throws: PeerError.self) {
            try RunningPeer.of(store: data, application: "third")
          }
          #expect(unknown?.description.contains("no application third") == true, "\(unknown as Any)")
        }
        let mode =
          try FileManager.default.attributesOfItem(atPath: "\(data)/control.sock")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await api.execute("SELECT * FROM cars").fields["items"]?.list?.count == 1)
      }
      #expect(!FileManager.default.fileExists(atPath: "\(data)/control.sock"))
      let left = try RunningPeer.of(store: stores[0])
      #expect(left == nil)
    }

    @Test func `a server without a control socket answers none, and one with it answers in any place`()
      async throws
    {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.admin.hasControlSocket = false
      let data = configuration.data
      try await RunningBigPeer.with(configuration) { _ in
        let isNone = try await offTasks { try RunningPeer.of(store: data) == nil }
        #expect(isNone)
      }
      // The store may lie outside the data directory.
      let other = try TemporaryDirectory()
      configuration.admin.hasControlSocket = true
      configuration.applications[0].folder = other.path
      try await RunningBigPeer.with(configuration) { _ in
        let application = try await offTasks {
          try RunningPeer.of(store: data)?.ask("status")["app"]
        }
        #expect(application == .string("default"))
      }
    }

    @Test func `a file in the place of the socket is left alone, and the server runs without one`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let lines = LogLines()
      let file = "\(configuration.data)/control.sock"
      try "x".write(toFile: file, atomically: true, encoding: .utf8)
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let answer = try await running.admin().send("GET", "/admin/applications")
        #expect(answer.status == 200)
      }
      #expect(lines.all.contains { $0.hasPrefix("warning There is no control socket") }, "\(lines.all)")
      #expect(try String(contentsOfFile: file, encoding: .utf8) == "x")
    }
  }
#endif
