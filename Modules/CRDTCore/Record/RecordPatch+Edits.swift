extension RecordPatch {
  /// The result of an attempt to patch a record.
  enum Outcome {
    case patched(EncodedDocument)
    /// There is nothing to write.
    case unchanged
    /// The tree must make the change.
    case tooMuch
  }

  /// Applies edits to a living document's record.
  ///
  /// - Returns: `nil` if the tree must apply them: edits that create, remove or replace anything other than
  ///   scalars, more than ``limit`` edits, or edits that are refused.
  static func update(
    _ edits: [Edit], _ stored: StoredDocument, _ stamping: Stamping, _ tables: inout RecordTables
  ) -> EncodedDocument? {
    let view = RecordView(stored.record)
    guard !edits.isEmpty, edits.count <= limit else { return nil }
    var heapBytes = 0
    for edit in edits {
      switch edit {
      case .set(_, let value), .replace(_, let value): heapBytes += value.heapBytes
      case .increment, .restart: heapBytes += 8
      case .remove: return nil
      }
    }
    return patch(
      view, stored.summary, stamping, &tables, heapBytes: heapBytes, changes: edits.count, writesLife: false
    ) { patch, keys, mark in
      for edit in edits where !patch.apply(edit, keys, mark) { return false }
      return true
    }
  }

  /// Writes scalar fields into a living document's record, and its life.
  ///
  /// With `onlyDifferences`, equal values and the life do not change.
  static func upsert(
    _ fields: [TextKey: Value], onlyDifferences: Bool, _ stored: StoredDocument, _ stamping: Stamping,
    _ tables: inout RecordTables
  ) -> Outcome {
    let view = RecordView(stored.record)
    let count = fields["_id"] == nil ? fields.count : fields.count - 1
    guard onlyDifferences || count > 0 && count <= limit else { return .tooMuch }
    var changes: [EntryChange] = []
    var heapBytes = 0
    for (key, value) in fields where key != "_id" {
      guard
        view.gather(value, at: [key], tables.keys, onlyDifferences: onlyDifferences, &changes, &heapBytes),
        changes.count <= limit
      else { return .tooMuch }
    }
    guard !changes.isEmpty else { return onlyDifferences ? .unchanged : .tooMuch }
    let patched = patch(
      view, stored.summary, stamping, &tables, heapBytes: heapBytes, changes: changes.count,
      writesLife: !onlyDifferences
    ) { patch, _, mark in
      for change in changes where !patch.set(change.location, to: change.value, mark) { return false }
      return true
    }
    return patched.map { .patched($0) } ?? .tooMuch
  }

  /// Draws a stamp above everything that the document has seen, like a local write, and patches under it.
  private static func patch(
    _ view: borrowing RecordView, _ summary: Summary, _ stamping: Stamping, _ tables: inout RecordTables,
    heapBytes: Int, changes: Int, writesLife: Bool, _ body: (inout RecordPatch, KeyTable, PatchMark) -> Bool
  ) -> EncodedDocument? {
    let keys = tables.keys
    var summary = summary
    return PatchWriters.with(view, adding: 1, own: stamping.site, tables.sites) { writers, reader in
      let reading = stamping.reading(after: writers.latest)
      var birth = stamping.newBirth
      if writers.own > 0 {
        let former = writers[writers.own].birth
        if stamping.goesOn(from: former) { birth = former }
      }
      let place = writers.advance(stamping.site, born: birth, to: reading, &tables.sites, &summary)
      writers.setOwn(place)
      if writesLife { writers.live(place, reading, isAlive: true, &summary) }
      return with(view, writers, &reader, summary, heapBytes: heapBytes, changes: changes) { patch in
        body(&patch, keys, PatchMark(entry: 0, place: place, reading: reading))
      }
    }
  }

  private mutating func apply(_ edit: Edit, _ keys: KeyTable, _ mark: PatchMark) -> Bool {
    guard let location = view.locate(edit.path, keys) else { return false }
    switch edit {
    case .set(_, let value):
      // The tree refuses a number over a counter.
      if value.isNumber, ValueRef(view.bytes, slotAt: location.slotOffset).kind == .counter { return false }
      return set(location, to: value, mark)
    case .replace(_, let value): return set(location, to: value, mark)
    case .restart(_, let start): return set(location, to: .counter(start), mark)
    case .increment(_, let amount):
      let change = Contribution(place: mark.place, reading: mark.reading, amount: amount, isAdded: true)
      return contribute(change, to: location)
    case .remove: return false
    }
  }

  private mutating func set(_ location: EntryLocation, to value: Value, _ mark: PatchMark) -> Bool {
    var mark = mark
    mark.entry = location.entry
    if case .counter(let start) = value {
      let hash = StateHash.bits(UInt64(bitPattern: start), .counter)
      return set(location, to: SlotContent(counter: start, hash: hash), at: mark)
    }
    return SlotContent.with(value) { set(location, to: $0, at: mark) } ?? false
  }
}

/// A scalar to be written, and its location.
struct EntryChange {
  var location: EntryLocation
  var value: Value
}

extension RecordView {
  /// Finds the scalars of `value`, field by field; `false` if one would have to be created or replaced.
  fileprivate func gather(
    _ value: Value, at path: [TextKey], _ keys: KeyTable, onlyDifferences: Bool,
    _ changes: inout [EntryChange],
    _ heapBytes: inout Int
  ) -> Bool {
    if case .map(let fields) = value {
      guard !fields.isEmpty else { return false }
      for (key, value) in fields {
        let isFound = gather(
          value, at: path + [key], keys, onlyDifferences: onlyDifferences, &changes, &heapBytes)
        guard isFound, changes.count <= RecordPatch.limit else { return false }
      }
      return true
    }
    guard let location = locate(path, keys) else { return false }
    let old = ValueRef(bytes, slotAt: location.slotOffset)
    guard old.kind != .map else { return false }
    switch (value, old.kind) {
    // A counter that an application made does not change an existing counter.
    case (.counter, .counter): return true
    case (.counter, _), (.int, .counter), (.double, .counter): return false
    default: break
    }
    if onlyDifferences, old.isEqual(to: value) { return true }
    changes.append(EntryChange(location: location, value: value))
    heapBytes += value.heapBytes
    return true
  }
}

extension ValueRef {
  /// Whether this value equals `value`, which is neither a map nor a counter.
  fileprivate func isEqual(to value: Value) -> Bool {
    SlotContent.with(value) { content in
      guard content.tag.rawValue == tag || kind == .bool && content.tag == .no else { return false }
      switch content.place {
      case .slot: return content.word == slot
      case .word: return heapWord == content.word
      case .bytes: return bytes.isEqual(to: content.bytes)
      }
    } ?? false
  }
}

extension Value {
  /// Whether this is a plain number.
  fileprivate var isNumber: Bool {
    switch self {
    case .int, .double: true
    case .null, .bool, .string, .bytes, .array, .map, .counter, .attachment, .decimal: false
    }
  }

  /// The most bytes that the value takes in a record's heap.
  fileprivate var heapBytes: Int {
    switch self {
    case .null, .bool, .int, .double, .counter: 11
    case .string(let value): value.utf8.count + 11
    case .bytes(let value): value.count + 11
    case .decimal(let value): value.text.utf8.count + 11
    case .array(let values): values.reduce(11) { $0 + $1.heapBytes }
    case .map(let fields): fields.reduce(11) { $0 + $1.key.utf8.count + 10 + $1.value.heapBytes }
    case .attachment(let token):
      token.metadata.reduce(token.id.count + 32) { $0 + $1.key.utf8.count + $1.value.utf8.count + 20 }
    }
  }
}
