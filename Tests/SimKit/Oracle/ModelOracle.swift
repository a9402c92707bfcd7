import CRDTCore
import CRDTModel
import DocStore

/// At rest, each document is what the reference model makes of the acknowledged writes.
///
/// This is checked field by field, at every peer that the writes of others reach.
///
/// The model knows operations, their stamps and what their writers knew, and none of the code that merges.
struct ModelOracle {
  private let world: World
  private var writes: [DocumentName: [FieldWrite]] = [:]
  /// Documents of which it is not known what was written, or what became of it.
  private var doubtful: Set<DocumentName>
  private let sites: [SiteID: Int]

  init(_ world: World) {
    self.world = world
    doubtful = world.script.unmodelled.union(world.ledger.evicted)
    for transaction in world.ledger.transactions where transaction.outcome != .refused {
      for (name, write) in transaction.writes { writes[name, default: []].append(write) }
      if transaction.outcome == .open { doubtful.formUnion(transaction.documents) }
    }
    let all = Set(writes.values.joined().map(\.site)).sorted()
    sites = Dictionary(uniqueKeysWithValues: zip(all, all.indices))
  }

  func check() throws {
    guard world.script.isModelled else { return }
    let free = world.script.free
    let expected = writes.filter { !doubtful.contains($0.key) && free.contains($0.key.collection) }
      .mapValues(fold)
    for peer in world.peers where peer.wantsEverything(of: world) && peer.isReached(in: world) {
      for (name, fields) in expected.sorted(by: { $0.key < $1.key }) {
        try compare(fields, with: try peer.fields(of: name), of: name, at: peer)
      }
    }
  }

  private func compare(
    _ expected: [ModelField: Value]?, with shown: [TextKey: Value]?, of name: DocumentName, at peer: SimPeer
  ) throws {
    guard (expected == nil) == (shown == nil) else {
      throw Violation(
        .agreement, "\(name) \(shown == nil ? "is not" : "is") at \(peer.name), against what was written")
    }
    for field in ModelField.allCases {
      let (wanted, found) = (expected?[field], shown?[field.name])
      guard wanted != found else { continue }
      throw Violation(
        .agreement,
        "\(name) has at \(peer.name) as \(field) \(found.shortText), and \(wanted.shortText) was written last"
      )
    }
  }

  /// What a reader sees of a document once all writes have met; `nil` when it is deleted.
  private func fold(_ writes: [FieldWrite]) -> [ModelField: Value]? {
    var operations: [FlatModel.Operation] = []
    var values: [Value] = []
    // Each write is later than all that its writer knew.
    let ordered = writes.map { (write: $0, stamp: stamp(of: $0)) }.sorted { $0.stamp < $1.stamp }
    for (index, (write, stamp)) in ordered.enumerated() {
      if let isAlive = write.life {
        let known = ordered[..<index].filter { write.known.includes($0.write) }
        let floor = floor(below: known.map(\.stamp), of: operations, isAlive: isAlive)
        operations.append(.life(stamp: stamp, isAlive: isAlive, floor: floor))
      }
      for (field, value) in write.fields {
        operations.append(.entry(path: field.rawValue, stamp: stamp, value: value.map { _ in values.count }))
        if let value { values.append(value) }
      }
    }
    let visible = FlatModel.fold(operations, paths: ModelField.allCases.count).visible
    return visible.map { visible in
      var fields: [ModelField: Value] = [:]
      for field in ModelField.allCases { fields[field] = visible[field.rawValue].map { values[$0] } }
      return fields
    }
  }

  /// What a new life hides: all up to the deletion that its writer knew.
  private func floor(
    below known: [ModelStamp], of operations: [FlatModel.Operation], isAlive: Bool
  ) -> ModelStamp {
    let stamps = Set(known)
    let seen = operations.filter {
      switch $0 {
      case .entry(_, let stamp, _), .life(let stamp, _, _): stamps.contains(stamp)
      }
    }
    let before = FlatModel.fold(seen, paths: ModelField.allCases.count)
    guard isAlive, let life = before.life, !life.isAlive else { return before.low }
    return max(before.low, life.stamp)
  }

  private func stamp(of write: FieldWrite) -> ModelStamp {
    ModelStamp(reading: write.reading.rawValue, site: sites[write.site] ?? 0)
  }
}

extension Script {
  /// Whether what documents hold is a function of what was written alone.
  var isModelled: Bool { rules.hasNoCopies && rules.rotten == nil }

  /// Documents that the model does not know completely, or whose state does not reach every peer.
  ///
  /// They begin as default data, may be too large, or have deletions that peers forget.
  fileprivate var unmodelled: Set<DocumentName> {
    let isLimited = peers.contains { $0.hardDocumentBytes < Limits.hardDocumentBytes }
    var found: Set<DocumentName> = []
    for event in events {
      guard case .write(_, let edits) = event.what else { continue }
      for edit in edits {
        let isUnknown =
          switch edit.kind {
          case .insertDefault: true
          case .delete, .removeField: !rules.keepsDeletions
          case .pad: isLimited
          default: false
          }
        if isUnknown { found.insert(edit.document) }
      }
    }
    return found
  }

  /// Collections that flow from each peer to each other all the time.
  fileprivate var free: Set<Int> {
    guard rules.hasFixedScopes else { return [] }
    return Set(
      (0..<rules.collections).filter { number in
        peers.allSatisfy { number >= $0.scopes.count || $0.scopes[number] == 0 }
      })
  }
}

extension VersionVector {
  fileprivate func includes(_ write: FieldWrite) -> Bool {
    elements.contains { $0.writer.site == write.site && $0.reading >= write.reading }
  }
}

extension Value? {
  fileprivate var shortText: String { map { String("\($0)".prefix(60)) } ?? "nothing" }
}

extension SimPeer {
  /// What a living document holds.
  fileprivate func fields(of name: DocumentName) throws -> [TextKey: Value]? {
    try store?.read { transaction in
      guard let collection = try transaction.collection(name.collectionName) else { return nil }
      let fields = try transaction.withRecord(collection, try DocumentID(name.value)) { record, _ in
        record.isAlive ? try record.fields(collection.keys) : nil
      }
      return fields ?? nil
    } ?? nil
  }
}
