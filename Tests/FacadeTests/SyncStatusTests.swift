import CRDTCore
import DunlinKit
import Foundation
import Logging
import TestKit
import Testing

/// What an application is told of how far sync has come, and of what stays behind.
@Suite(.timeLimit(.minutes(15))) struct SyncStatusTests {
  let tablet: Peer
  let phone: Peer

  init() throws {
    tablet = try Peer("tablet")
    phone = try Peer("phone")
  }

  @Test func `a peer has a commit once it is synced up to its id`() async throws {
    let first = try await tablet.commit("INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})")
    let second = try await tablet.commit("INSERT INTO cars DOCUMENTS ({'_id': 'c1'})")
    #expect(first < second)
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    // What does not concern the peer counts as synced, too.
    try await tablet.waitForStatus { $0["synced_up_to_local_commit_id"].int ?? 0 >= second }
    #expect(try phone.store["bikes"].findAll().exec().map(\.id) == ["b1"])

    let third = try await tablet.commit("UPDATE bikes SET km = 1 WHERE _id = 'b1'")
    try await tablet.waitForStatus { $0["synced_up_to_local_commit_id"].int ?? 0 >= third }
    #expect(try phone.store["bikes"].findAll().exec().first?["km"].int == 1)
    subscription.cancel()
  }

  @Test func `of a peer that pulls nothing it is not said what it has`() async throws {
    try await tablet.store["bikes"].upsert(["_id": "b1"])
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    try await phone.waitForStatus { $0["is_caught_up"].bool == true }
    // The tablet pulls nothing.
    let status = try #require(try await phone.status())
    #expect(status["synced_up_to_local_commit_id"].value == nil)
    #expect(status["sync_session_status"].string == "Connected")
    subscription.cancel()
  }

  @Test func `a peer that pulls nothing has caught up`() async throws {
    try phone.connect(to: tablet)
    for peer in [phone, tablet] { try await peer.waitForStatus { $0["is_caught_up"].bool == true } }
  }

  @Test func `a peer tells when it has caught up and when documents came last`() async throws {
    try await tablet.store["bikes"].upsert(["_id": "b1"])
    let before = milliseconds
    try phone.connect(to: tablet)
    try await phone.waitForStatus { $0["sync_session_status"].string == "Connected" }
    #expect(try await phone.status()?["last_update_received_time"].value == nil)
    let subscription = phone.store["bikes"].findAll().subscribe()
    try await phone.waitForStatus {
      $0["is_caught_up"].bool == true && $0["last_update_received_time"].int != nil
    }
    let time = try #require(try await phone.status()?["last_update_received_time"].int)
    // The two clocks are read one after the other.
    #expect(before - 1_000...milliseconds + 1_000 ~= time)
    subscription.cancel()
  }

  @Test func `a damaged document shows in the status of both peers, and is named in the log`() async throws {
    for name in ["b1", "b2", "b3"] {
      try await tablet.store["bikes"].upsert(["_id": name, "text": "the words of \(name)"])
    }
    let file = URL(fileURLWithPath: tablet.directory.file("db") + "/data.mdb")
    let data = try Data(contentsOf: file)
    let handle = try FileHandle(forUpdating: file)
    var start = data.startIndex
    while let place = data.range(of: Data("the words of b2".utf8), in: start..<data.endIndex) {
      try handle.seek(toOffset: UInt64(place.lowerBound))
      try handle.write(contentsOf: Data("The".utf8))
      start = place.upperBound
    }
    try handle.close()
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    for peer in [phone, tablet] {
      try await peer.waitForStatus { $0["has_unreadable_documents"].bool == true }
    }
    try await phone.wait(for: "bikes") { $0.map(\.id) == ["b1", "b3"] }
    #expect(try await phone.status()?["is_caught_up"].bool == false)
    #expect(
      tablet.log.lines(
        with: "\(try CRDTCore.DocumentID("b2").digest) of 'bikes' is damaged here", from: .error
      ).count == 1)
    #expect(phone.log.lines(with: "cannot read all of its store").count == 1)
    subscription.cancel()
  }

  @Test func `a document that stays behind is named in the log`() async throws {
    let subscription = phone.store["files"].findAll().subscribe()
    try phone.connect(to: tablet)
    try await tablet.store["files"].upsert(["_id": "large", "body": String(repeating: "x", count: 5_100_000)])
    let digest = try CRDTCore.DocumentID("large").digest
    while tablet.log.lines(with: "\(digest) of 'files' stays here").isEmpty {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(tablet.log.lines(with: "too large to be sent to phone").count == 1)
    #expect(tablet.log.lines(with: "xxx", from: .trace).isEmpty)
    subscription.cancel()
  }

  @Test func `beside a document that is too large neither peer counts as synced, also when they meet again`()
    async throws
  {
    try await tablet.store.execute(query: "ALTER SYSTEM SET document_size_hard_limit_bytes = 1000")
    try await tablet.store["files"].upsert(["_id": "large", "body": String(repeating: "x", count: 2_000)])
    let small = try await tablet.commit("INSERT INTO files DOCUMENTS ({'_id': 'small'})")
    let subscription = phone.store["files"].findAll().subscribe()
    try phone.connect(to: tablet)
    for _ in 0..<2 {
      try await tablet.dunlin.sync.waitUntilArrived(UInt64(small))
      for peer in [phone, tablet] {
        try await peer.waitForStatus { $0["has_withheld_documents"].bool == true }
        try await expectEqual(peer.status()?["is_caught_up"].bool, false)
      }
      try await expect(tablet.status()?["synced_up_to_local_commit_id"].value == nil)
      phone.dunlin.stopSync()
      while try await tablet.status() != nil { try await Task.sleep(for: .milliseconds(5)) }
      try phone.dunlin.startSync()
      try await phone.waitForStatus { $0["sync_session_status"].string == "Connected" }
    }
    try await tablet.store.execute(query: "UPDATE files UNSET body WHERE _id = 'large'")
    try await tablet.dunlin.sync.waitUntilArrived()
    try await phone.waitForStatus { $0["is_caught_up"].bool == true }
    #expect(try phone.store["files"].findAll().count() == 2)
    subscription.cancel()
  }

  private var milliseconds: Int { Int(Date().timeIntervalSince1970 * 1_000) }
}

extension Peer {
  /// The id of a statement's commit.
  fileprivate func commit(_ statement: String) async throws -> Int {
    Int(try #require(try await store.execute(query: statement).commitID))
  }

  /// What `system:data_sync_info` says of the only connection's documents.
  fileprivate func status() async throws -> DunlinDocumentPath? {
    try await store.execute(query: "SELECT * FROM system:data_sync_info").items.first?["documents"]
  }

  fileprivate func waitForStatus(until condition: (DunlinDocumentPath) -> Bool) async throws {
    while !(try await status().map(condition) ?? false) { try await Task.sleep(for: .milliseconds(5)) }
  }
}
