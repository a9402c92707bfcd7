import CRDTCore

/// Documents to start from, with every kind of value and of metadata.
enum Samples {
  static let sites = [SiteID(high: 1, low: 2), SiteID(high: 3, low: 4)]

  static let fields: [TextKey: Value] = [
    "s": .string("JFK"), "long": .string(String(repeating: "x", count: 40)), "i": .int(7), "big": .int(.min),
    "d": .double(1.5), "b": .bool(true), "n": .null, "bytes": .bytes([1, 2, 3]),
    "list": .array([.int(1), .string("a"), .map(["k": .null])]),
    "map": .map(["x": .int(1), "y": .map(["z": .null])]),
    "count": .counter(3), "file": .attachment(AttachmentToken(id: [9], byteCount: 10, metadata: ["a": "b"])),
  ]

  /// Records of one document through its life: fresh, edited at two sites, deleted, started afresh.
  static func records() -> (records: [[UInt8]], tables: RecordTables) {
    let (documents, tables) = documents()
    return (documents.map(\.record), tables)
  }

  static func documents() -> (documents: [EncodedDocument], tables: RecordTables) {
    var tables = RecordTables()
    var documents: [EncodedDocument] = []
    func stamping(_ index: Int) -> Stamping {
      Stamping(site: sites[index % 2], reading: ClockReading(milliseconds: 1_000 + UInt64(index), counter: 0))
    }
    func add(_ change: (StoredDocument?, inout RecordTables) throws -> EncodedDocument?) {
      let document: EncodedDocument?
      if let last = documents.last {
        document = try? change(StoredDocument(last.record.span.bytes, summary: last.summary), &tables)
      } else {
        document = try? change(nil, &tables)
      }
      guard let document else { preconditionFailure("a sample cannot be made") }
      documents.append(document)
    }
    add {
      try DocumentCodec.upsert(fields, strategy: .merge, existing: $0, stamping: stamping(0), tables: &$1)
    }
    let edits: [[Edit]] = [
      [.set(["s"], .string("EWR")), .remove(["i"])], [.increment(["count"], 2), .replace(["map"], .int(4))],
      [.set(["map", "x"], .bool(false)), .restart(["count"], 1)],
    ]
    for (index, edit) in edits.enumerated() {
      add { try DocumentCodec.update(edit, existing: $0, stamping: stamping(index + 1), tables: &$1) }
    }
    add { try DocumentCodec.remove(existing: $0, stamping: stamping(5), tables: &$1) }
    add {
      try DocumentCodec.upsert(
        ["s": .null], strategy: .insertIfAbsent, existing: $0, stamping: stamping(6), tables: &$1)
    }
    return (documents, tables)
  }
}
