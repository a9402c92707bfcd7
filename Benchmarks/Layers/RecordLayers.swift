import BenchmarkSupport
import CRDTCore
import Foundation

/// What single operations on documents cost, through CRDTCore's public API, in processor time of one thread.
struct RecordLayers {
  /// The fields that are asked for and changed.
  struct Fields {
    /// `text == wanted && number > least` is the predicate; the number is what changes.
    let text: TextKey
    let wanted: String
    let number: TextKey
    let least: Int64
    let nested: [TextKey]

    static let orders = Fields(
      text: "status", wanted: "paid", number: "amount", least: 500, nested: ["address", "zip"])
    static let flights = Fields(
      text: "origin", wanted: "JFK", number: "dep_delay", least: 60, nested: ["route", "dest"])
  }

  let name: String
  let rounds: Int
  let fields: Fields
  private var phone = Replica(site: SiteID(high: 0x9C1D_44E0_5B7A_0F63, low: 0x2A6E_8F01_D3B5_7C94))
  private var laptop = Replica(site: SiteID(high: 0xB34F_9A72_1E8D_6C05, low: 0x71D0_5EB2_94AF_380C))
  private var documents: [ReplicatedDocument] = []
  private var idBytes = 0
  private var documentCount = 1.0

  private static let today: UInt64 = 1_760_000_000_000

  init(name: String, rounds: Int, fields: Fields) {
    self.name = name
    self.rounds = rounds
    self.fields = fields
  }

  mutating func run(_ corpus: Corpus, _ report: inout Report) throws {
    var values: [[TextKey: Value]] = []
    for line in try Data(contentsOf: URL(filePath: corpus.path)).split(separator: 10) {
      guard case .map(let fields) = try JSON.parse(Array(line)), let id = fields["_id"] else {
        throw BenchmarkError("a line is no document")
      }
      idBytes += try DocumentID(id).bytes.count + 1
      values.append(fields)
    }
    documentCount = Double(max(values.count, 1))
    try measure("make a document", &report) {
      documents.removeAll(keepingCapacity: true)
      for fields in values {
        var document = ReplicatedDocument()
        try phone.upsert(fields, into: &document, now: Self.today)
        documents.append(document)
      }
    }
    values = []
    let recordBytes = documents.reduce(0) { $0 + ($1.record?.bytes.count ?? 0) }
    report.add("\(name): JSON, per document", Double(corpus.jsonBytes) / documentCount, .bytes)
    report.add("\(name): record, per document", Double(recordBytes) / documentCount, .bytes)
    try read(&report)
    let edited = try update(&report)
    try exchange(edited, &report)
  }

  /// Over records that lie one after the other, as in a store's pages.
  private func read(_ report: inout Report) throws {
    var bytes: [UInt8] = []
    var ends: [Int] = []
    for document in documents {
      bytes += document.record?.bytes ?? []
      ends.append(bytes.count)
    }
    var (text, number) = (ResolvedPath([.key(fields.text)]), ResolvedPath([.key(fields.number)]))
    text.resolve(in: phone.tables.keys)
    number.resolve(in: phone.tables.keys)
    let wanted = Array(fields.wanted.utf8)
    let least = fields.least
    var found = 0
    measure("predicate of two fields, in place", &report) {
      found = 0
      let wanted = wanted.span.bytes
      var start = 0
      for end in ends {
        let view = RecordView(bytes.span.bytes.extracting(start..<end))
        start = end
        guard let text = view.value(at: text), text.kind == .string, text.bytes.isSame(as: wanted),
          let number = view.value(at: number), number.kind == .int, number.int > least
        else { continue }
        found += 1
      }
    }
    guard found > 0, found < documents.count else {
      throw BenchmarkError("the predicate does not tell documents apart")
    }
    var intact = 0
    measure("validate a record", &report) {
      intact = 0
      var start = 0
      for end in ends {
        if RecordView(bytes.span.bytes.extracting(start..<end)).verify() { intact += 1 }
        start = end
      }
    }
    guard intact == documents.count else { throw BenchmarkError("a record is not valid") }
  }

  /// - Returns: The documents with one number changed by their owner.
  private mutating func update(_ report: inout Report) throws -> [ReplicatedDocument] {
    let edits: [(String, Edit)] = [
      ("set a number", .set([fields.number], .int(7))),
      ("set a string", .set([fields.text], .string("another text"))),
      ("set a nested field", .set(fields.nested, .string("12345"))),
      ("increment a number", .increment([fields.number], 1)),
    ]
    for (what, edit) in edits {
      let edit = [edit]
      var changed = 0
      try measure(what, &report) {
        changed = 0
        for var document in documents where try phone.update(edit, of: &document, now: Self.today) {
          changed += 1
        }
      }
      guard changed == documents.count else { throw BenchmarkError("an update changed nothing") }
      try updateStored(what, edit, &report)
    }
    var edited = documents
    for index in edited.indices {
      try phone.update([.set([fields.number], .int(7))], of: &edited[index], now: Self.today + 1_000)
    }
    return edited
  }

  /// The same from records that are adjacent, as in a store's pages, into memory that is reused.
  ///
  /// This is a store's step between reading a record, which verifies it, and writing the new one.
  private mutating func updateStored(_ what: String, _ edit: [Edit], _ report: inout Report) throws {
    let bytes = documents.flatMap { $0.record?.bytes ?? [] }
    let counts = documents.map { $0.record?.bytes.count ?? 0 }
    let summaries = documents.map(\.summary)
    var memory: [UInt8] = []
    var changed = 0
    try measure("\(what), from stored record to new one", &report) {
      changed = 0
      var start = 0
      for index in counts.indices {
        let record = bytes.span.bytes.extracting(start..<start + counts[index])
        start += counts[index]
        let stored = StoredDocument(record, summary: summaries[index])
        guard let updated = try phone.update(edit, of: stored, in: &memory, now: Self.today) else { continue }
        changed += 1
        memory = updated.record?.bytes ?? []
      }
    }
    guard changed == documents.count else { throw BenchmarkError("an update changed nothing") }
    guard Record(bytes: memory).withView({ $0.verify() }) else {
      throw BenchmarkError("an updated record is not valid")
    }
  }

  private mutating func exchange(_ edited: [ReplicatedDocument], _ report: inout Report) throws {
    var wires: [[UInt8]] = []
    try measure("encode a whole document", &report) {
      wires = try documents.map { try phone.encoding(of: $0) }
    }
    var received: [ReplicatedDocument] = []
    try measure("merge a whole document into nothing", &report) {
      received.removeAll(keepingCapacity: true)
      for wire in wires {
        var document = ReplicatedDocument()
        try laptop.merge(wire, into: &document, now: Self.today)
        received.append(document)
      }
    }
    wires = []
    let vectors = try received.map { try laptop.vector(of: $0) }
    var deltas: [[UInt8]] = []
    try measure("encode a delta of one field above a vector", &report) {
      deltas.removeAll(keepingCapacity: true)
      for index in edited.indices {
        deltas.append(try phone.delta(of: edited[index], since: vectors[index]))
      }
    }
    try merge(deltas, into: received, "a delta of one field above a vector", as: edited, &report)
    try measure("encode a delta of one field", &report) {
      deltas.removeAll(keepingCapacity: true)
      for index in edited.indices {
        deltas.append(try phone.delta(of: edited[index], after: documents[index]))
      }
    }
    try merge(deltas, into: received, "a delta of one field", as: edited, &report)
  }

  private mutating func merge(
    _ deltas: [[UInt8]], into received: [ReplicatedDocument], _ what: String, as edited: [ReplicatedDocument],
    _ report: inout Report
  ) throws {
    let bytes = deltas.reduce(0) { $0 + $1.count }
    report.add("\(name): \(what)", Double(bytes) / documentCount, .bytes)
    report.add("\(name): \(what) with its id", Double(bytes + idBytes) / documentCount, .bytes)
    var merged = received
    try measure("merge \(what)", &report) {
      for index in received.indices {
        var document = received[index]
        guard try laptop.merge(deltas[index], into: &document, now: Self.today) == .changed else {
          throw BenchmarkError("a delta changed nothing")
        }
        merged[index] = document
      }
    }
    for index in merged.indices where merged[index].summary != edited[index].summary {
      throw BenchmarkError("a merged document differs from its original")
    }
  }

  private func measure(_ what: String, _ report: inout Report, _ body: () throws -> Void) rethrows {
    for _ in 0..<rounds {
      let start = Measures.threadNanoseconds
      try body()
      report.add("\(name): \(what)", (Measures.threadNanoseconds - start) / documentCount, .nanoseconds)
    }
  }
}

extension RawSpan {
  fileprivate func isSame(as other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    return unsafe withUnsafeBytes { mine in
      unsafe other.withUnsafeBytes { theirs in
        guard let a = mine.baseAddress, let b = theirs.baseAddress else { return true }
        return unsafe memcmp(a, b, mine.count) == 0
      }
    }
  }
}
