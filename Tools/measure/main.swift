import CRDTCore
import Foundation

/// What each operation on a record costs, over all documents of a file of JSON lines.
struct RecordSpeed {
  let lines: [[UInt8]]
  var documents: [[String: Value]] = []
  var tables = RecordTables()
  var records: [EncodedDocument] = []
  let measures = Measures()
  let fields: (text: String, number: String, changed: String, nested: [String])

  static let phone = SiteID(high: 0xA000_0000_0000_0001, low: 1)
  static let laptop = SiteID(high: 0xB000_0000_0000_0002, low: 2)
  static let today: UInt64 = 1_760_000_000_000

  init(lines: [[UInt8]]) throws {
    self.lines = lines
    let isFlights = lines.first.map { String(decoding: $0, as: UTF8.self).contains("dep_delay") } ?? false
    fields =
      isFlights
      ? ("origin", "dep_delay", "arr_delay", ["route", "distance"])
      : ("status", "amount", "amount", ["address", "zip"])
  }

  func stamping(_ site: SiteID, _ turn: Int) -> Stamping {
    Stamping(site: site, reading: ClockReading(milliseconds: Self.today + UInt64(turn) * 1_000))
  }

  mutating func run() throws {
    try insert()
    try read()
    try update()
    try exchange()
  }

  private mutating func insert() throws {
    let count = lines.count
    try measures.time("read JSON into values", per: count) {
      documents = try lines.map {
        guard case .map(let fields) = try JSON.parse($0) else { return [:] }
        return fields
      }
    }
    try measures.time("encode a fresh record from values", per: count) {
      records = try documents.map {
        guard
          let document = try DocumentCodec.upsert(
            $0, strategy: .merge, existing: nil, stamping: stamping(Self.phone, 0), tables: &tables)
        else { throw CocoaError(.coderInvalidValue) }
        return document
      }
    }
    let bytes = records.reduce(0) { $0 + $1.record.count }
    measures.note(
      "bytes of a record", "\(bytes / count) beside \(lines.reduce(0) { $0 + $1.count } / count) of JSON")
  }

  private mutating func read() throws {
    let count = records.count
    var found = 0
    var (text, number) = (ResolvedPath([.key(fields.text)]), ResolvedPath([.key(fields.number)]))
    text.resolve(in: tables.keys)
    number.resolve(in: tables.keys)
    let wanted = Array("JFK".utf8)
    measures.time("two-field predicate in place", per: count) {
      for document in records {
        let view = RecordView(document.record.span.bytes)
        guard let text = view.value(at: text),
          text.bytes.isEqual(to: wanted.span.bytes) || text.bytes.byteCount > 3,
          let number = view.value(at: number), number.kind == .int, number.int > 60
        else { continue }
        found += 1
      }
    }
    measures.time("verify the checksum", per: count) {
      for document in records where !RecordView(document.record.span.bytes).verify() { found += 1 }
    }
    precondition(found > 0, "a predicate found nothing")
  }

  private mutating func update() throws {
    let count = records.count
    var changed = 0
    let sets: [(String, Edit)] = [
      ("set a number", .set([fields.changed], .int(7))),
      ("set a short string", .set([fields.text], .string("EWR"))),
      ("set a string in the heap", .set([fields.text], .string("another status"))),
      ("set a nested field", .set(fields.nested, .string("12345"))),
      ("increment a number", .increment([fields.changed], 1)),
    ]
    for (name, edit) in sets {
      for (whose, site) in [("own fresh", Self.phone), ("another's", Self.laptop)] {
        try measures.time("\(name), \(whose) record", per: count) {
          for document in records {
            let stored = StoredDocument(document.record.span.bytes, summary: document.summary)
            let new = try DocumentCodec.update(
              [edit], existing: stored, stamping: stamping(site, 1), tables: &tables)
            changed += new?.record.count ?? 0
          }
        }
      }
    }
    precondition(changed > 0, "no update changed anything")
  }

  private mutating func exchange() throws {
    let count = records.count
    let base = try Record(bytes: records[0].record).withView { view throws(CodecError) in
      try view.vector(sites: tables.sites)
    }
    var edited: [EncodedDocument] = []
    for document in records {
      let stored = StoredDocument(document.record.span.bytes, summary: document.summary)
      let edit = Edit.set([fields.changed], .int(7))
      if let new = try DocumentCodec.update(
        [edit], existing: stored, stamping: stamping(Self.laptop, 1), tables: &tables)
      {
        edited.append(new)
      }
    }
    var deltas: [[UInt8]] = []
    try measures.time("make a delta of one field", per: count) {
      deltas.removeAll()
      deltas.reserveCapacity(count)
      for document in edited {
        var out = ByteWriter(capacity: 96)
        try WireDocument.append(
          RecordView(document.record.span.bytes), lacking: base, tables: tables, to: &out)
        deltas.append(out.bytes)
      }
    }
    measures.note("bytes of a delta", "\(deltas.reduce(0) { $0 + $1.count } / count)")
    try measures.time("validate a delta", per: count) {
      for delta in deltas { try WireDocument.validate(delta.span.bytes) }
    }
    try measures.time("merge a delta into a record", per: count) {
      for (document, delta) in zip(records, deltas) {
        let stored = StoredDocument(document.record.span.bytes, summary: document.summary)
        guard
          case .changed = try DocumentCodec.merge(
            wire: delta.span.bytes, existing: stored, own: Self.phone, tables: &tables)
        else { throw CocoaError(.coderInvalidValue) }
      }
    }
    try measures.time("merge a delta that is known", per: count) {
      for (document, delta) in zip(edited, deltas) {
        let stored = StoredDocument(document.record.span.bytes, summary: document.summary)
        guard
          case .unchanged = try DocumentCodec.merge(
            wire: delta.span.bytes, existing: stored, own: Self.phone, tables: &tables)
        else { throw CocoaError(.coderInvalidValue) }
      }
    }
    var wires: [[UInt8]] = []
    try measures.time("write a whole document for the wire", per: count) {
      wires = try records.map {
        var out = ByteWriter(capacity: 512)
        try WireDocument.append(
          RecordView($0.record.span.bytes), lacking: VersionVector(), tables: tables, to: &out)
        return out.bytes
      }
    }
    try measures.time("validate a whole document", per: count) {
      for wire in wires { try WireDocument.validate(wire.span.bytes) }
    }
    try measures.time("take a whole document in", per: count) {
      for wire in wires {
        guard
          case .changed = try DocumentCodec.merge(
            wire: wire.span.bytes, existing: nil, own: Self.laptop, tables: &tables)
        else { throw CocoaError(.coderInvalidValue) }
      }
    }
  }
}

guard CommandLine.arguments.count >= 2 else {
  print("usage: measure FILE.jsonl [DOCUMENTS]")
  exit(2)
}
let limit = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 100_000 : 100_000
var lines: [[UInt8]] = []
for line in try Data(contentsOf: URL(filePath: CommandLine.arguments[1])).split(separator: 10).prefix(limit) {
  lines.append(Array(line))
}
var speed = try RecordSpeed(lines: lines)
print("\(lines.count) documents")
try speed.run()
