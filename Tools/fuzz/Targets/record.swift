import CRDTCore

/// Any bytes as a record: every read gives a value or an error, whether the checksum holds or not.
enum Target {
  static let samples = Samples.records()
  static let seeds = samples.records
  static let paths: [ResolvedPath] = {
    let paths: [[PathComponent]] = [
      [.key("s")], [.key("map"), .key("y"), .key("z")], [.key("list"), .index(2), .key("k")],
      [.key("unknown")],
      [.key("count")],
    ]
    return paths.map {
      var path = ResolvedPath($0)
      path.resolve(in: samples.tables.keys)
      return path
    }
  }()

  static func run(_ input: [UInt8]) {
    var tables = samples.tables
    let record = Record(bytes: input)
    record.withView { view in
      _ = view.verify()
      _ = view.isAlive
      for path in paths {
        guard let value = view.value(at: path) else { continue }
        _ = (value.kind, value.bool, value.int, value.double, value.bytes.byteCount)
        _ = try? value.materialize(tables.keys)
      }
      _ = try? view.fields(tables.keys)
      _ = try? view.vector(sites: tables.sites)
      for base in [VersionVector(), (try? view.vector(sites: tables.sites)) ?? VersionVector()] {
        var wire = ByteWriter()
        try? WireDocument.append(view, lacking: base, tables: tables, to: &wire)
      }
    }
    let stamping = Stamping(site: Samples.sites[0], reading: ClockReading(milliseconds: 2_000, counter: 0))
    let stored = StoredDocument(input.span.bytes, summary: .zero)
    let edits: [Edit] = [
      .set(["s"], .null), .set(["long"], .string("a text that is shorter")), .set(["map", "x"], .int(.min)),
      .increment(["count"], 1), .remove(["map"]),
    ]
    _ = try? DocumentCodec.update(edits, existing: stored, stamping: stamping, tables: &tables)
    for edit in edits {
      _ = try? DocumentCodec.update([edit], existing: stored, stamping: stamping, tables: &tables)
    }
    _ = try? DocumentCodec.remove(existing: stored, stamping: stamping, tables: &tables)
    _ = try? DocumentCodec.upsert(
      Samples.fields, strategy: .updateDifferentValues, existing: stored, stamping: stamping,
      tables: &tables)
  }
}
