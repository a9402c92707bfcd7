import DunlinKit
import Foundation
import TestKit
import Testing

/// What `print` says of the objects that stand for something kept elsewhere.
@Suite struct HandleDescriptionTests {
  private struct Note: Codable, Sendable { var text: String }

  let peer: Peer
  private var store: DunlinStore { peer.store }

  init() throws {
    peer = try Peer()
    try peer.store["notes"].upsert(["_id": "n1", "text": "a secret"])
  }

  @Test func `a database and its parts say what they are and how they stand`() throws {
    let (dunlin, path) = (peer.dunlin, peer.directory.file("db"))
    #expect("\(dunlin)" == "Dunlin(\(path), open)")
    #expect("\(store)" == "DunlinStore(\(path))")
    #expect("\(dunlin.sync)" == "DunlinSync(not active, 0 subscriptions)")
    #expect("\(dunlin.presence)" == "DunlinPresence(0 remote peers)")
    #expect("\(store["notes"])" == "DunlinCollection(notes)")
    try dunlin.startSync()
    #expect("\(dunlin)" == "Dunlin(\(path), open, syncing)")
    #expect("\(dunlin.sync)" == "DunlinSync(active, 0 subscriptions)")
    try dunlin.close()
    #expect("\(dunlin)" == "Dunlin(\(path), closed)")
    #expect("\(DunlinIdentity.unsafeDevelopment(appID: "tests"))" == "DunlinIdentity(development of tests)")
  }

  @Test func `what observes and pulls says its query, and that it is over`() throws {
    let subscription = try peer.dunlin.sync.registerSubscription(
      query: "SELECT * FROM notes WHERE text = :t", arguments: ["t": "a secret"])
    #expect("\(subscription)" == "DunlinSubscription(SELECT * FROM notes WHERE text = :t)")
    #expect("\(peer.dunlin.sync)" == "DunlinSync(not active, 1 subscription)")
    subscription.cancel()
    #expect("\(subscription)" == "DunlinSubscription(SELECT * FROM notes WHERE text = :t, cancelled)")
    let live = store["notes"].find("text == $args.t", args: ["t": "a secret"]).observeLocal { _, _ in }
    #expect("\(live)" == "DunlinLiveQuery(text == $args.t)")
    live.cancel()
    #expect("\(live)" == "DunlinLiveQuery(text == $args.t, cancelled)")
    let observer = peer.dunlin.presence.observe { _ in }
    #expect("\(observer)" == "DunlinPresenceObserver(observing)")
    observer.cancel()
    #expect("\(observer)" == "DunlinPresenceObserver(cancelled)")
  }

  @Test func `queries say their text, and no values of arguments and documents`() throws {
    let query = "SELECT * FROM notes WHERE text = :t"
    let arguments: [String: Any?] = ["t": "a secret"]
    let found = store["notes"].find("text == $args.t", args: ["t": "a secret"])
    #expect("\(found)" == "DunlinPendingCursorOperation(notes: text == $args.t)")
    #expect("\(store["notes"].findByID("n1"))" == "DunlinPendingIDSpecificOperation(notes, n1)")
    #expect("\(try store.prepare(query: query))" == "DunlinPreparedStatement(\(query))")
    let texts = [
      "\(try store.changes(of: query, arguments: arguments))",
      "\(try store.changes(of: query, arguments: arguments, as: Note.self))",
      "\(try store.rows(of: query, arguments: arguments))",
    ]
    #expect(texts[0].hasPrefix("DunlinDiffs(SELECT * FROM notes WHERE"), "\(texts)")
    #expect(texts[1].hasPrefix("DunlinTypedDiffs<Note>(SELECT * FROM notes WHERE"), "\(texts)")
    #expect(texts[2] == "DunlinRows<DunlinQueryResultItem>(\(query))")
    #expect(!texts.joined().contains("secret"))
  }

  @Test func `transactions say whether they write, and a document under change its id`() throws {
    let written = store.write { transaction in
      let notes = transaction["notes"]
      return ["\(transaction)", "\(notes)", "\(notes.findAll())", "\(notes.findByID("n1"))"]
    }
    #expect(
      written == [
        "DunlinWriteTransaction(read and write)", "DunlinScopedWriteTransaction(notes)",
        "DunlinWriteTransactionPendingCursorOperation(notes: true)",
        "DunlinWriteTransactionPendingIDSpecificOperation(notes, n1)",
      ])
    let read = try store.read { transaction in
      let notes = transaction["notes"]
      return ["\(transaction)", "\(notes)", "\(notes.findAll())", "\(notes.findByID("n1"))"]
    }
    #expect(
      read == [
        "DunlinReadTransaction(read only)", "DunlinScopedReadTransaction(notes)",
        "DunlinReadTransactionPendingCursorOperation(notes: true)",
        "DunlinReadTransactionPendingIDSpecificOperation(notes, n1)",
      ])
    var text = ""
    store["notes"].findByID("n1").update { document in text = document.map { "\($0)" } ?? "" }
    #expect(text == "DunlinMutableDocument(n1)")
  }

  @Test func `transactions whose calls are awaited say so too`() async throws {
    let texts = try await store.transaction(hint: "report", isReadOnly: true) { transaction in
      let notes = transaction["notes"]
      return ["\(transaction)", "\(notes)", "\(notes.findAll())", "\(notes.findByID("n1"))"]
    }
    #expect(
      texts == [
        "DunlinTransaction(read only, report)", "DunlinScopedTransaction(notes)",
        "DunlinTransactionPendingCursorOperation(notes: true)",
        "DunlinTransactionPendingIDSpecificOperation(notes, n1)",
      ])
  }

  #if TLS
    @Test func `an authority and a shared key print no key`() throws {
      let authority = try DunlinAuthority(
        appID: "tests", validity: Date()..<Date(timeIntervalSinceNow: 3_600))
      #expect("\(authority)".hasPrefix("DunlinAuthority(tests, until 20"), "\(authority)")
      let key = DunlinSharedKey()
      let identity = DunlinIdentity.sharedKey(appID: "tests", key: key)
      #expect("\(identity)" == "DunlinIdentity(shared key of tests)")
    }
  #endif
}
