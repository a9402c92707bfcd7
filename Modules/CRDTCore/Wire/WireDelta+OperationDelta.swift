extension WireDelta {
  /// Appends the one write between a state with that vector and latest reading, and a record.
  ///
  /// - Returns: `false`, with nothing appended, for what the tree must write or refuse.
  static func append(
    _ record: borrowing RecordView, _ succession: Succession, lacking base: VersionVector,
    _ latest: ClockReading, _ step: WireStep, tables: RecordTables, to out: inout ByteWriter
  ) -> Bool {
    guard record.isAlive else { return false }
    let length = out.count
    let isWritten = PatchWriters.with(record, adding: 0, own: .zero, tables.sites) { writers, reader in
      with(record, writers, base, tables.keys, &reader, only: succession) { (delta) throws(CodecError) in
        let writer = succession.writer
        let (place, _) = writers.find(writer.site, writer.birth)
        let isLife = writers.life.place == place && writers.life.reading == succession.reading
        OperationDeltaHead(
          life: isLife ? .lives : .stays, step: step, author: succession.author,
          reading: succession.reading, after: latest
        ).write(to: &out)
        try delta.writeChildren(of: record.root, first: 0, depth: 0, to: &out)
      }
    }
    if isWritten == true { return true }
    out.bytes.removeLast(out.count - length)
    return false
  }

  /// Writes an entry of an operation delta: one of the one write, or a counter that it incremented.
  mutating func writeOnly(
    _ value: borrowing ValueRef, _ mark: PatchMark, depth: Int, to out: inout ByteWriter
  ) throws(CodecError) {
    let isNew = mark.reading == only?.reading && isOnly(mark)
    guard isNew || value.kind == .counter else {
      throw CodecError(.malformed, "an entry is of another write", at: 0)
    }
    switch value.kind {
    case .map:
      out.write(WireWriter.mapKind)
      try writeChildren(of: value.node, first: mark.entry + 1, depth: depth + 1, to: &out)
    case .counter:
      let (base, news) = try news(of: value, entry: mark.entry)
      guard news.count <= 1, isNew || news.count == 1, news.allSatisfy({ isOnly($0.0) }) else {
        throw CodecError(.malformed, "a contribution is of another write", at: 0)
      }
      out.write(isNew ? WireWriter.counterKind : OperationDeltaReader.incrementKind)
      if isNew {
        out.writeSignedVarint(base)
        out.writeVarint(news.count)
      }
      for (_, amount) in news { out.writeSignedVarint(amount) }
    default:
      out.write(value.wireKind)
      value.writeContent(to: &out)
    }
  }

  private func isOnly(_ mark: PatchMark) -> Bool {
    guard let only, mark.place > 0, mark.place <= writers.count, mark.reading == only.reading else {
      return false
    }
    let writer = writers[mark.place]
    return writer.site == only.writer.site && writer.birth == only.writer.birth
  }
}
