import CRDTCore

/// A whole document as an application hands it over to be saved.
struct SavedFields {
  /// For a document that is new.
  let written: WrittenFields
  /// The fields with the sums of all counters.
  let fields: [TextKey: Value]
  /// What the counters that were read have counted since, by their paths.
  let counted: [[TextKey]: Int64]
  /// Whether a field that is left out may stand for one that is null: types leave out what is `nil`.
  let leavesOutNil: Bool

  /// - Throws: As for a document that is upserted.
  init(_ dictionary: [String: Any?]) throws {
    self.init(try Value.written(dictionary), leavesOutNil: false)
  }

  /// - Throws: As for a document that is upserted.
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
  /// Sets the sum of a counter that stands in this map, or in maps of it.
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
