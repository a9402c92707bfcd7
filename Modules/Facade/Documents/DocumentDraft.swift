import CRDTCore
import QueryEngine

/// A document's fields and the edits that an update closure makes to them.
///
/// The closure's calls do not throw: the first failure is recorded, and the update throws it.
final class DocumentDraft {
  let id: DocumentID
  private(set) var fields: [TextKey: Value]
  private(set) var edits: [Edit] = []
  private(set) var results: [DunlinUpdateResult] = []
  private(set) var failure: DunlinError?
  private var isOver = false
  private let report: (DunlinError) -> Void

  init(id: DocumentID, fields: [TextKey: Value], report: @escaping (DunlinError) -> Void) {
    self.id = id
    self.fields = fields
    self.report = report
  }

  /// Ends the update closure; later writes are ignored.
  ///
  /// - Throws: The first failure.
  func finish() throws(DunlinError) {
    isOver = true
    if let failure { throw failure }
  }

  func value(at path: [PathComponent]) -> Value? { Value.map(fields).value(at: path) }

  func set(_ any: Any?, at path: [PathComponent], replacing: Bool = false) {
    edit(path) { keys, indexes throws(DunlinError) in
      var counters: ReadCounters? = ReadCounters(isReplacing: replacing)
      var value = try Value.converting(any, at: path.map(\.text), &counters)
      if replacing { value = value.keepingSpellings(of: self.value(at: path), given: any) }
      if indexes.isEmpty {
        set(value, at: keys, replacing: replacing, counters?.found ?? [])
      } else {
        try writeArray(keys) { array throws(DunlinError) in
          array = try Self.element(array.setting(value, at: indexes[...]), path)
        }
      }
      results.append(.set(docID: DunlinDocumentID(id), path: path.text))
    }
  }

  /// Sets a value; counters in it that were read add to the stored counters.
  private func set(
    _ value: Value, at keys: [TextKey], replacing: Bool, _ counters: [WrittenFields.ReadCounter]
  ) {
    let increments = counters.filter { counter in
      if case .counter? = self.value(at: (keys + counter.path).map(PathComponent.key)) { true } else { false }
    }
    let rest = increments.reduce(Optional(value)) { $0?.leavingOut($1.path[...]) }
    if let rest {
      edits.append(replacing ? .replace(keys, rest) : .set(keys, rest))
      put(rest, at: keys, merging: !replacing)
    }
    for counter in increments where counter.own != 0 { add(counter.own, at: keys + counter.path) }
  }

  /// Adds to a stored counter.
  private func add(_ amount: Int64, at keys: [TextKey]) {
    guard case .counter(let sum)? = value(at: keys.map(PathComponent.key)) else { return }
    edits.append(.increment(keys, amount))
    put(.counter(Int64(Int(sum).addingSaturating(Int(amount)))), at: keys)
  }

  func remove(_ path: [PathComponent]) {
    edit(path) { keys, indexes throws(DunlinError) in
      if indexes.isEmpty {
        edits.append(.remove(keys))
        put(nil, at: keys)
      } else {
        try writeArray(keys) { array throws(DunlinError) in
          array = try Self.element(array.setting(nil, at: indexes[...]), path)
        }
      }
      results.append(.removed(docID: DunlinDocumentID(id), path: path.text))
    }
  }

  func replaceWithCounter(_ path: [PathComponent]) {
    count(path) { keys throws(DunlinError) in
      switch value(at: path) {
      case .counter?: return
      case .int(let number)?: put(.counter(number), at: keys)
      case nil: put(.counter(0), at: keys)
      default: throw Self.noCounter(path)
      }
      // No amount: the stored number becomes the counter's start, which is the same at every peer.
      edits.append(.increment(keys, 0))
      results.append(.replacedWithCounter(docID: DunlinDocumentID(id), path: path.text))
    }
  }

  func increment(_ path: [PathComponent], by amount: Int) {
    count(path) { keys throws(DunlinError) in
      guard case .counter? = value(at: path) else { throw Self.noCounter(path) }
      add(Int64(amount), at: keys)
      results.append(.incremented(docID: DunlinDocumentID(id), path: path.text, amount: amount))
    }
  }

  func restart(_ path: [PathComponent], at start: Int) {
    count(path) { keys throws(DunlinError) in
      edits.append(.restart(keys, Int64(start)))
      put(.counter(Int64(start)), at: keys)
      results.append(.restarted(docID: DunlinDocumentID(id), path: path.text))
    }
  }

  // MARK: - Steps

  /// Splits a path at its first array index and runs `body` unless the update is over or has failed.
  private func edit(
    _ path: [PathComponent], _ body: (_ keys: [TextKey], _ rest: [PathComponent]) throws(DunlinError) -> Void
  ) {
    guard !isOver else {
      report(DunlinError(.closed, "a mutable document was written to after its update closure had ended"))
      return
    }
    guard failure == nil else { return }
    var keys: [TextKey] = []
    for case .key(let key) in path.prefix(while: \.isKey) { keys.append(key) }
    do throws(DunlinError) {
      guard keys.first != "_id" else {
        throw DunlinError(
          .invalidDocumentID, "the _id of a document cannot be changed", context: ["path": "_id"])
      }
      guard path.count <= Limits.pathSteps else {
        throw DunlinError(.limit, "a path leads through more than \(Limits.depth) maps and arrays")
      }
      try body(keys, Array(path.dropFirst(keys.count)))
    } catch {
      failure = error
    }
  }

  /// Counters can be in maps, not in arrays.
  private func count(_ path: [PathComponent], _ body: (_ keys: [TextKey]) throws(DunlinError) -> Void) {
    edit(path) { keys, indexes throws(DunlinError) in
      guard indexes.isEmpty else { throw Self.noCounter(path) }
      try body(keys)
    }
  }

  private func writeArray(
    _ keys: [TextKey], _ body: (inout Value) throws(DunlinError) -> Void
  ) throws(DunlinError) {
    var array = value(at: keys.map(PathComponent.key)) ?? .null
    try body(&array)
    edits.append(.set(keys, array))
    put(array, at: keys)
  }

  private func put(_ value: Value?, at keys: [TextKey], merging: Bool = true) {
    fields.write(value, at: keys[...], merging: merging)
  }

  private static func element(_ array: Value?, _ path: [PathComponent]) throws(DunlinError) -> Value {
    if let array { return array }
    throw DunlinError(
      .invalidPath, "there is no such element (at \(path.text))", context: ["path": path.text])
  }

  private static func noCounter(_ path: [PathComponent]) -> DunlinError {
    DunlinError(
      .notACounter, "only a counter can be incremented, and only an integer become one (at \(path.text))",
      context: ["path": path.text])
  }
}

extension PathComponent {
  fileprivate var isKey: Bool { if case .key = self { true } else { false } }

  fileprivate var text: String {
    switch self {
    case .key(let key): key.text
    case .index(let index): "\(index)"
    }
  }
}

extension [PathComponent] {
  fileprivate var text: String { map(\.text).joined(separator: ".") }
}

extension [TextKey: Value] {
  /// Writes a value, or removes the stored one.
  ///
  /// On the path to the value, anything other than a map becomes a map.
  ///
  /// - Complexity: O(*n*) in the keys and the written values, not in the stored fields beside them.
  fileprivate mutating func write(_ value: Value?, at keys: ArraySlice<TextKey>, merging: Bool) {
    guard let key = keys.first else { return }
    let rest = keys.dropFirst()
    guard rest.isEmpty else {
      if value == nil { guard case .map? = self[key] else { return } }
      self[key, default: .null].withMap { $0.write(value, at: rest, merging: merging) }
      return
    }
    if merging, case .map(let written)? = value, case .map? = self[key] {
      self[key, default: .null].withMap { fields in
        for (key, value) in written { fields.write(value, at: [key][...], merging: true) }
      }
    } else {
      self[key] = value
    }
  }
}

extension Value {
  /// Changes this map in place; a value other than a map becomes one first.
  fileprivate mutating func withMap(_ body: (inout [TextKey: Value]) -> Void) {
    var fields: [TextKey: Value] = [:]
    if case .map(let standing) = self { fields = standing }
    // Otherwise the dictionary would be copied for each change.
    self = .null
    body(&fields)
    self = .map(fields)
  }

  /// The value without the part at a path; `nil` when nothing remains.
  fileprivate func leavingOut(_ path: ArraySlice<TextKey>) -> Value? {
    guard let key = path.first else { return nil }
    guard case .map(var fields) = self else { return self }
    fields[key] = fields[key]?.leavingOut(path.dropFirst())
    return fields.isEmpty ? nil : .map(fields)
  }

  /// The array with one element set, removed, or added at its end.
  ///
  /// - Returns: `nil` when the path leads to no place.
  fileprivate func setting(_ value: Value?, at path: ArraySlice<PathComponent>) -> Value? {
    guard let step = path.first else { return value }
    let rest = path.dropFirst()
    switch (step, self) {
    case (.index(let index), .array(var elements)):
      guard index >= 0, index <= elements.count else { return nil }
      guard index < elements.count else {
        guard rest.isEmpty, let value else { return nil }
        return .array(elements + [value])
      }
      if rest.isEmpty, value == nil {
        elements.remove(at: index)
      } else {
        guard let changed = elements[index].setting(value, at: rest) else { return nil }
        elements[index] = changed
      }
      return .array(elements)
    case (.key(let key), .map(var fields)):
      if rest.isEmpty {
        fields[key] = value
      } else {
        guard let changed = fields[key]?.setting(value, at: rest) else { return nil }
        fields[key] = changed
      }
      return .map(fields)
    case (.index, _), (.key, _): return nil
    }
  }
}
