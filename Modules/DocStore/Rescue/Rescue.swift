import CRDTCore

/// Copies what can be read of a store's file into another store.
struct Rescue {
  let target: Store
  let names: RescuedNames
  var walk: TreeWalk
  let trees: [TextKey: PageFile.Tree]
  var report = RescueReport()
  /// Records that were not rescued, by their keys, until the report names them.
  var lost: [[UInt8]: LostRecord] = [:]
  private var meter: ProgressMeter
  private var pending: [RescuedDocument] = []
  private var pendingBytes = 0

  /// The limits of one transaction.
  enum Batch {
    static let documents = 1_000
    static let bytes = 8 << 20
  }

  /// Reads the names that records refer to.
  ///
  /// - Throws: `corrupt` when the list of tables cannot be read.
  init(
    _ file: PageFile, _ found: [PageDamage], into target: Store,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    self.target = target
    var walk = TreeWalk(file)
    var damage = VerificationReport()
    for damaged in found { damage.note(.page, damaged.message) }
    var trees: [TextKey: PageFile.Tree] = [:]
    for (name, tree) in walk.tables(damaged: { damage.note(.page, "\($0.message), in the list of tables") }) {
      trees[TextKey(String(decoding: name, as: UTF8.self))] = tree
    }
    guard trees["documents"] != nil else {
      throw StoreError(.corrupt, "The file does not say where its documents are", operation: "rescue")
    }
    names = RescuedNames(&walk, trees, &damage)
    report.damage = damage
    self.walk = walk
    self.trees = trees
    meter = ProgressMeter(total: trees["documents"]?.entries ?? 0, progress)
  }

  mutating func run() throws -> RescueReport {
    // In order, so that they get the numbers that the compacted tombstones refer to.
    try target.write { [names] transaction in
      for name in names.collections { _ = try transaction.intern(name, operation: "rescue") }
    }
    try takeFormerSites()
    try takeCertificates()
    try takeDocuments()
    try takeSideEntries()
    try makeIndexes()
    try meter.finish()
    return report
  }

  // MARK: - Sites

  /// Records as which sites the damaged store has written, as far as that can be read.
  private mutating func takeFormerSites() throws {
    var former: [FormerSite] = []
    // Nothing that is lost here is missing in a document, so it is not reported.
    var damage = VerificationReport()
    walk.walkSmall("meta", trees, &damage) { key, reader in
      if FormerSites.isKey(key) { former += try FormerSites(&reader).sites }
      if key == StoreIdentity.identityKey {
        former.append(FormerSite(site: try reader.readSite(), latest: ClockReading(rawValue: .max)))
      }
    }
    try target.write { [former] transaction in
      for site in former { try transaction.add(site) }
    }
  }

  // MARK: - Deletions

  private mutating func takeCertificates() throws {
    var certificates: [(key: [UInt8], certificate: Certificate)] = []
    var damage = report.damage
    walk.walkSmall("certificates", trees, &damage) { [sites = names.sites] key, reader in
      certificates.append((key, try Certificate(&reader, sites)))
    }
    report.damage = damage
    for start in stride(from: 0, to: certificates.count, by: Batch.documents) {
      let batch = certificates[start..<min(start + Batch.documents, certificates.count)]
      try target.write { transaction in
        transaction.keepsTime = true
        for (key, certificate) in batch {
          try transaction.update { () throws(StoreError) in
            try transaction.putCertificate(at: key, certificate.life, floor: certificate.floor)
          }
        }
      }
    }
    report.certificateCount = certificates.count
  }

  // MARK: - Documents

  private mutating func takeDocuments() throws {
    guard let tree = trees["documents"] else { return }
    var damaged: [PageDamage] = []
    // A copy, because found documents are stored while the walk continues.
    var walk = walk
    try walk.walk(tree, as: .entries, damaged: { damaged.append($0) }) { key, value in
      try meter.advance()
      if let document = rescued(key, Array(value), isStray: false) { try take(document, isStray: false) }
    }
    try flush(areStrays: false)
    for damage in damaged { report.damage.note(.page, "\(damage.message), in the table documents") }
    if !damaged.isEmpty { try takeStrays(&walk, damaged.map(\.page)) }
    try noteLosses(arePagesLost: !damaged.isEmpty)
  }

  /// Looks for documents on pages that are damaged, and on pages that are neither in use nor listed as free.
  ///
  /// Free pages hold earlier states of documents, which may have been removed since, so nothing is taken from
  /// them.
  private mutating func takeStrays(_ walk: inout TreeWalk, _ damaged: [Int]) throws {
    var isFreeListWhole = true
    for page in walk.freePages(damaged: { _ in isFreeListWhole = false }) { _ = walk.meet(page) }
    let others = isFreeListWhole ? walk.unmetPages : []
    if !isFreeListWhole {
      report.damage.note(.page, "The list of free pages is damaged, so only pages in use were searched")
    }
    for page in Set(damaged + others).sorted() {
      for (key, value) in StrayEntries(walk.file, page: page) {
        guard let document = rescued(key, value, isStray: true) else { continue }
        try take(document, isStray: true)
      }
    }
    try flush(areStrays: true)
  }

  /// A document in the form in which it is sent, if its entry is whole.
  ///
  /// For a damaged stray entry, nobody knows what it belonged to.
  private mutating func rescued(_ key: [UInt8], _ value: [UInt8], isStray: Bool) -> RescuedDocument? {
    let place = DocumentPlace(key.rawBytes)
    if let place, let row = DocumentRow(value.rawBytes, number: place.number),
      row.isIntact(in: place.collection), let id = try? DocumentID(validating: row.id),
      RecordView(row.record).verify(), let collection = names.collection(place.collection)
    {
      do {
        var wire = ByteWriter(capacity: row.record.byteCount)
        try WireDocument.append(
          RecordView(row.record), lacking: VersionVector(), tables: names.tables(of: place.collection),
          to: &wire)
        return RescuedDocument(key: key, collection: collection, id: id, wire: wire.bytes)
      } catch {
        lose(key, "The record cannot be read: \(error.message)", id: id)
      }
    } else if !isStray {
      lose(key, "The record is damaged")
    }
    return nil
  }

  private mutating func take(_ document: RescuedDocument, isStray: Bool) throws {
    pending.append(document)
    pendingBytes += document.wire.count
    guard pending.count >= Batch.documents || pendingBytes >= Batch.bytes else { return }
    try flush(areStrays: isStray)
  }

  private mutating func flush(areStrays: Bool) throws {
    guard !pending.isEmpty else { return }
    let refused = try target.write { [pending] transaction in
      var refused: [RescuedDocument] = []
      for document in pending {
        // Nobody knows which documents were written together. That they are rescued in one transaction means
        // nothing.
        try transaction.beginGroup()
        let result = try transaction.merge(
          wire: document.wire.rawBytes, id: document.id, in: document.collection)
        if result != .changed { refused.append(document) }
      }
      return refused
    }.0
    report.documentCount += pending.count - refused.count
    if areStrays { report.strayCount += pending.count - refused.count }
    // An older copy of a document on a stray page is not a loss.
    for document in areStrays ? [] : refused {
      lose(document.key, "The record is one that no store takes in", id: document.id)
    }
    pending.removeAll(keepingCapacity: true)
    pendingBytes = 0
  }

  // MARK: - Indexes

  private mutating func makeIndexes() throws {
    var definitions: [IndexDefinition] = []
    var damage = report.damage
    walk.walkSmall("indexes", trees, &damage) { [names] key, reader in
      var number = ByteReader(key.rawBytes)
      // Statistics are computed again.
      guard number.remaining == 4 else { return }
      let state = try IndexState(&number, &reader) { names.collection($0) }
      if state.info != nil { definitions.append(state.definition) }
    }
    report.damage = damage
    for definition in definitions {
      try target.createIndex(definition)
      report.indexCount += 1
    }
  }
}

/// A document that is being copied from one store to another.
private struct RescuedDocument {
  let key: [UInt8]
  let collection: String
  let id: DocumentID
  let wire: [UInt8]
}
