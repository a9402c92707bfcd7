import CRDTCore

/// A whole document as an application passes it to `save`.
struct SavedFields {
  /// The fields to write if the document is new.
  let written: WrittenFields
  /// The fields, with the sums of all counters.
  let fields: [TextKey: Value]
  /// What the counters that were read have counted since, by path.
  let counted: [[TextKey]: Int64]
  /// Whether a missing field may mean null: encoded types leave out fields that are `nil`.
  let leavesOutNil: Bool

  /// - Throws: The same errors as for a document that is upserted.
  init(_ dictionary: [String: Any?]) throws {
    self.init(try Value.written(dictionary), leavesOutNil: false)
  }

  /// - Throws: The same errors as for a document that is upserted.
  init(encoding value: some Encodable) throws {
    self.init(try ValueEncoding.fields(value), leavesOutNil: true)
  }

  private init(_ written: WrittenFields, leavesOutNil: Bool) {
    self.written = written
    self.leavesOutNil = leavesOutNil
    var fields = Value.map(written.fields)
    for counter in written.readCounters { fields.setCounter(counter.sum, at: counter.path[...]) }
    if case .map(let members) = fields { self.fields = members } else { self.fields = [:] }
    counted = Dictionary(written.readCounters.map { ($0.path, $0.own) }) { $1 }
  }
}

extension Value {
  /// Sets the sum of a counter in this map, or in a map within it.
  fileprivate mutating func setCounter(_ sum: Int64, at path: ArraySlice<TextKey>) {
    guard let key = path.first else {
      if case .counter = self { self = .counter(sum) }
      return
    }
    guard case .map(var members) = self else { return }
    members[key]?.setCounter(sum, at: path.dropFirst())
    self = .map(members)
  }
}
