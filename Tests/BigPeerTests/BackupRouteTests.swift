#if Server
  import BigPeer
  import CRDTCore
  import DocStore
  import Foundation
  import TestKit
  import Testing

  /// Series of backups, and exports, at a server that runs.
  @Suite struct BackupRouteTests {
    private let folder: TemporaryDirectory
    private let path = "/admin/applications/default"

    init() throws { folder = try TemporaryDirectory() }

    @Test func `a series goes on while the server runs, and each point is restored as the original`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let series = folder.file("series")
      try await RunningBigPeer.with(configuration) { [path] running in
        let (api, admin) = (try await running.api(), try running.admin())
        for number in 1...3 {
          _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': \(number)})")
          let made = try await admin.post("\(path)/backup", "{\"directory\":\"\(series)\",\"series\":true}")
          expectEqual(made.status, 200, "\(made.fields)")
          expectEqual(made.fields["point"], .int(Int64(number)))
          expectEqual(made.fields["isBase"], .bool(number == 1))
          expectEqual(made.fields["label"], .string("default"))
        }
        let base = "{\"directory\":\"\(self.folder.file("other"))\",\"base\":true}"
        #expect(try await admin.post("\(path)/backup", base).status == 400)
        let relative = "{\"directory\":\"series\",\"series\":true}"
        #expect(try await admin.post("\(path)/backup", relative).status == 400)
      }
      let application = configuration.applications[0]
      let former = try StoreRestore(series, application, asOriginal: true, at: .number(2)).carryOut()
      #expect(former != nil)
      try await RunningBigPeer.with(configuration) { [path] running in
        let api = try await running.api()
        #expect(try await api.execute("SELECT * FROM orders").fields["items"]?.list?.count == 2)
        // The restored store is another site, so that the series goes on with a base.
        let next = try await running.admin().post(
          "\(path)/backup", "{\"directory\":\"\(series)\",\"series\":true}")
        #expect(next.fields["point"] == .int(4))
        #expect(next.fields["isBase"] == .bool(true))
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("applications/default"))
      #expect(!names.contains { $0.hasSuffix(".image") || $0.hasSuffix(".partial") }, "\(names)")
    }

    @Test func `a damaged series, a moment without a point and a moment of one backup change nothing`()
      async throws
    {
      let configuration = RunningBigPeer.configuration(in: folder)
      let (series, copy) = (folder.file("series"), folder.file("copy"))
      try await RunningBigPeer.with(configuration) { [path] running in
        let (api, admin) = (try await running.api(), try running.admin())
        _ = try await api.execute("INSERT INTO orders DOCUMENTS ({'_id': 1})")
        _ = try await admin.post("\(path)/backup", "{\"directory\":\"\(series)\",\"series\":true}")
        _ = try await admin.post("\(path)/backup", "{\"directory\":\"\(copy)\"}")
      }
      let application = configuration.applications[0]
      let store = URL(filePath: folder.file("applications/default/store/data.mdb"))
      let before = try Data(contentsOf: store)
      func refusal(_ directory: String, _ moment: BackupMoment) -> String {
        do {
          _ = try StoreRestore(directory, application, asOriginal: false, at: moment).carryOut()
          return ""
        } catch {
          return "\(error)"
        }
      }
      #expect(refusal(series, .sequence(0)).contains("does not have"))
      #expect(refusal(series, .number(9)).contains("has no point 9"))
      #expect(refusal(copy, .number(1)).contains("is no series"))
      var other = application
      other.id = "shop"
      #expect {
        try StoreRestore(series, other, asOriginal: true).carryOut()
      } throws: {
        "\($0)".contains("is of the application default")
      }
      let file = URL(filePath: series + "/00000001.base")
      var bytes = try Data(contentsOf: file)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: file)
      #expect(refusal(series, .newest).contains("/00000001.base is damaged at byte "))
      #expect(try Data(contentsOf: store) == before)
    }

    @Test func `an export has each document once, with its id and its types, in pieces`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { [path] running in
        let (api, admin) = (try await running.api(), try running.admin())
        let text = String(repeating: "x", count: 2_000)
        for start in stride(from: 0, to: 400, by: 5) {
          let documents = (start..<start + 5).map { "{'_id': 'd\($0)', 'text': '\(text)'}" }
          _ = try await api.execute("INSERT INTO orders DOCUMENTS (\(documents.joined(separator: "), (")))")
        }
        _ = try await api.execute("INSERT INTO tills DOCUMENTS ({'_id': 7, 'name': 'front'})")
        _ = try await api.execute("DELETE FROM orders WHERE _id = 'd399'")
        let orders = try await admin.send("GET", "\(path)/export?collection=orders")
        #expect(orders.status == 200)
        let lines = try orders.text.split(separator: "\n").map { try JSON.parse(Array($0.utf8)) }
        #expect(lines.count == 399)
        #expect(Set(lines.compactMap { $0["_id"] }).count == 399)
        let all = try await admin.send("GET", "\(path)/export")
        let each = try all.text.split(separator: "\n").map { try JSON.parse(Array($0.utf8)) }
        #expect(each.count == 400)
        #expect(each.last?["collection"] == .string("tills"))
        #expect(each.last?["document"]?["_id"] == .int(7))
        #expect(try await admin.send("GET", "\(path)/export?collection=none").status == 404)
        #expect(try await admin.send("GET", "\(path)/export?colection=orders").status == 400)
        let stranger = try APIClient(running.addresses.admin, token: nil)
        #expect(try await stranger.send("GET", "\(path)/export").status == 401)
      }
    }
  }
#endif
