import CRDTCore
import DocStore

extension World {
  /// Lets an event of the script happen; what it needs may not be there, then nothing does.
  func perform(_ what: ScriptEvent.What) throws {
    narrate("\(what)")
    for number in what.peers { peers[number].clock.set(now) }
    switch what {
    case .write(let number, let edits): write(edits, at: peers[number])
    case .evict(let number, let documents): evict(documents, at: peers[number])
    case .evictMatching(let number, let query): try evict(matching: query, at: peers[number])
    case .subscribe(let number, let plans): try peers[number].subscribe(to: plans)
    case .scope(let number, let scopes): try peers[number].scope(scopes)
    case .cut(let number, let towardB, let count, let heard):
      links[number].cut(towardB: towardB, after: count, heard)
    case .down(let number, let time): links[number].goDown(for: time)
    case .stall(let number, let towardB, let time): links[number].stall(towardB: towardB, for: time)
    case .garble(let number, let towardB, let count, let how):
      links[number].garble(how, towardB: towardB, after: count)
    case .kill(let number, let effects, let heard, let downFor):
      try peers[number].willDie(after: effects, heard, downFor: downFor)
    case .pause(let number, let time): peers[number].pause(for: time)
    case .jump(let number, let milliseconds):
      reach(milliseconds < 0 ? .clockWentBack : .clockFarAhead)
      peers[number].clock.jump(by: milliseconds)
    case .freeze(let number, let time):
      reach(.clockStood)
      peers[number].clock.freeze()
      after(time) { [unowned self] in peers[number].clock.thaw() }
    case .forget(let number): try peers[number].collect()
    case .backup(let number): try peers[number].backUp()
    case .restore(let number, let inPlace, let unnoticed):
      try peers[number].restore(inPlace: inPlace, unnoticed: unnoticed)
    case .clone(let source, let copy, let unnoticed):
      try peers[copy].start(asCopyOf: peers[source], unnoticed: unnoticed)
    case .index(let number, let collection): try peers[number].makeIndex(collection)
    case .rot(let number, let collection): try peers[number].rot(collection)
    case .limit(let number, let bytes): peers[number].limit(bytes)
    }
  }

  private func write(_ edits: [EditPlan], at peer: SimPeer) {
    guard peer.isRunning else { return }
    let transaction = ledger.begin(edits, at: peer)
    oracles.willWrite(edits, at: peer)
    peer.write(origin: .user) { [script, hasOtherSecrets] body in
      for edit in edits {
        let isOther = hasOtherSecrets && script.keepsToItself(edit.document.collection, at: peer.number)
        try edit.apply(in: body, entry: transaction, writer: peer.number, isOther: isOther)
      }
    } completion: { [ledger] result in
      ledger.end(transaction, result, at: peer)
    }
  }

  private func evict(_ documents: [DocumentName], at peer: SimPeer) {
    guard peer.isRunning, !documents.isEmpty else { return }
    for document in documents {
      let isWanted = peer.subscriptions.contains { $0.selects(document) != false }
      reach(isWanted ? .evictedUnderSubscription : .evictedWithoutSubscription)
    }
    ledger.willEvict(documents)
    let number = ledger.transactions.count
    peer.write(origin: .user) { body in
      for document in documents {
        try body.evict(try DocumentID(document.value), in: document.collectionName)
      }
    } completion: { [ledger] result in
      if case .success = result { ledger.didEvict(documents, at: peer, since: number) }
    }
  }

  private func evict(matching query: SubscriptionPlan, at peer: SimPeer) throws {
    guard peer.isRunning, let store = peer.store else { return }
    let names = try store.documents(matching: query)
    evict(names, at: peer)
  }
}

extension EditPlan {
  /// Makes the change; each leaves the transaction's mark on what is not erasable.
  ///
  /// With `isOther` it writes other texts and numbers, as long as those that it writes otherwise.
  func apply(
    in transaction: WriteTransaction, entry: LedgerTransaction, writer: Int, isOther: Bool
  ) throws {
    let marker = Self.marker(document.collection, writer, isOther: isOther)
    let id = try DocumentID(document.value)
    let collection = document.collectionName
    var fields: [TextKey: Value] = [
      "kind": .string(document.isEven ? "even" : "odd"),
      "n": .int(Int64(value % 6)), "color": .string(["red", "blue", "green"][value % 3]),
      "by": .string(marker),
    ]
    if kind == .pad { fields["pad"] = .string(marker + String(repeating: isOther ? "y" : "x", count: value)) }
    let before = try entry.isModelled ? transaction.vector(of: id, in: collection) : VersionVector()
    switch kind {
    case .upsert, .pad:
      try transaction.upsert(fields, id: id, into: collection, strategy: .merge)
    case .set: try edit(transaction, id, [.set(["n"], .int(Int64(value % 6)))])
    case .removeField: try edit(transaction, id, [.remove([value % 2 == 0 ? "color" : "pad"])])
    case .increment:
      let isMade = try edit(transaction, id, [.increment(["count"], Int64(value))])
      if isMade { entry.noteIncrement(of: document, by: value) }
    case .restart: try edit(transaction, id, [.restart(["again"], Int64(value))])
    case .insertDefault:
      try transaction.upsert(fields, id: id, into: collection, strategy: .insertDefaultIfAbsent)
    case .insertIfAbsent: try transaction.upsert(fields, id: id, into: collection, strategy: .insertIfAbsent)
    case .delete: try transaction.remove(id, in: collection)
    case .changeType:
      let new = Self.values[value % Self.values.count]
      switch new {
      // A counter may stand there, which a plain number takes the place of only so.
      case .int, .double: try edit(transaction, id, [.replace(["any"], new)])
      default: try edit(transaction, id, [.set(["any"], new)])
      }
    case .nested:
      try edit(transaction, id, [.set(["map", "k\(value % 4)"], .int(Int64(isOther ? 17 - value : value)))])
    case .replaceMap: try edit(transaction, id, [.replace(["map"], .map(["only": .int(Int64(value))]))])
    }
    if entry.isModelled, let (fields, life) = modelled(fields) {
      let after = try transaction.vector(of: id, in: collection)
      entry.note(fields, life, on: document, from: before, to: after)
    }
    guard let mark = entry.mark, !document.isErasable, kind != .insertDefault else { return }
    let known = try transaction.vector(of: id, in: collection)
    if try edit(transaction, id, [.set(["tx", "\(mark)"], .bool(true))]) {
      entry.noteMark(on: document, from: known, to: try transaction.vector(of: id, in: collection))
    }
  }

  @discardableResult
  private func edit(_ transaction: WriteTransaction, _ id: DocumentID, _ edits: [Edit]) throws -> Bool {
    try transaction.update(id, in: document.collectionName, edits)
  }

  /// What a field is set to, one type after the other.
  static let values: [Value] = [
    .int(7), .string("seven"), .bool(true), .double(7.5), .null, .array([.int(1), .string("two")]),
    .map(["a": .int(1)]), .counter(3), .bytes([1, 2, 3]),
  ]

  /// Stands in what a peer writes to a collection, so that it is seen in bytes.
  static func marker(_ collection: Int, _ writer: Int, isOther: Bool = false) -> String {
    "~by\(collection)~\(writer)\(isOther ? "!" : "~")"
  }
}
