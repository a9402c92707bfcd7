import CRDTCore

/// Any bytes as a document or delta from a peer: refused as a whole, or merged into a valid record.
///
/// The record then includes what was merged.
enum Target {
  static let samples = Samples.documents()
  static let seeds: [[UInt8]] = {
    let records = samples.documents.map { Record(bytes: $0.record) }
    let known = records[0].withView { try? $0.vector(sites: samples.tables.sites) } ?? VersionVector()
    return records.flatMap { record in
      [VersionVector(), known].map { base in
        var wire = ByteWriter()
        record.withView { view in
          try? WireDocument.append(view, lacking: base, tables: samples.tables, to: &wire)
        }
        return wire.bytes
      }
    }
      + zip(samples.documents, samples.documents.dropFirst()).map { former, document in
        let operationDelta = try? WireDocument.operationDelta(
          of: StoredDocument(former.record.span.bytes, summary: former.summary),
          to: StoredDocument(document.record.span.bytes, summary: document.summary), tables: samples.tables)
        return operationDelta?.bytes ?? []
      }
  }()

  static func run(_ input: [UInt8]) {
    _ = try? WireDocument.vectors(input.span.bytes)
    _ = try? WireDocument.basis(input.span.bytes)
    _ = try? WireDocument.latest(input.span.bytes)
    let isValid = (try? WireDocument.validate(input.span.bytes)) != nil
    var tables = samples.tables
    merge(input, into: nil, isValid, &tables)
    for document in samples.documents { merge(input, into: document, isValid, &tables) }
  }

  private static func merge(
    _ input: [UInt8], into existing: EncodedDocument?, _ isValid: Bool, _ tables: inout RecordTables
  ) {
    do throws(CodecError) {
      guard case .changed(let document) = try outcome(of: input, on: existing, &tables) else { return }
      precondition(isValid, "merged what the validator refuses")
      precondition(Record(bytes: document.record).withView { $0.verify() }, "a merge wrote a damaged record")
      if existing == nil {
        let again = try wire(of: document, tables)
        precondition(again == input, "a document has two wire forms")
      }
      guard case .unchanged = try outcome(of: input, on: document, &tables) else {
        preconditionFailure("a second merge changes the document")
      }
      // Merged on the record's bytes or over the tree, it is the same state.
      guard case .changed(let measure) = try outcome(of: input, on: existing, &tables, by: .tree) else {
        preconditionFailure("a merge changes what the tree does not")
      }
      precondition(measure.summary == document.summary, "a merge came to another state than the tree")
      let (form, expected) = (try wire(of: document, tables), try wire(of: measure, tables))
      precondition(form == expected, "a merge came to another state than the tree")
    } catch {
      precondition(!isValid, "the validator lets through what cannot be merged")
    }
  }

  private static func wire(
    of document: EncodedDocument, _ tables: RecordTables
  ) throws(CodecError) -> [UInt8] {
    var wire = ByteWriter()
    try Record(bytes: document.record).withView { view throws(CodecError) in
      try WireDocument.append(view, lacking: VersionVector(), tables: tables, to: &wire)
    }
    return wire.bytes
  }

  private static func outcome(
    of input: [UInt8], on existing: EncodedDocument?, _ tables: inout RecordTables,
    by route: CodecRoute = .shortest
  ) throws(CodecError) -> MergeOutcome {
    let own = Samples.sites[0]
    guard let existing else {
      return try DocumentCodec.merge(
        wire: input.span.bytes, existing: nil, own: own, tables: &tables, by: route)
    }
    return try DocumentCodec.merge(
      wire: input.span.bytes, existing: StoredDocument(existing.record.span.bytes, summary: existing.summary),
      own: own, tables: &tables, by: route)
  }
}
