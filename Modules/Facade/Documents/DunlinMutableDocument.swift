public import CRDTCore

/// A document inside an update closure; what is written to it is applied when the closure ends.
///
/// It reads its own writes. Outside the closure it has no function: writes are then ignored, and an error is
/// logged.
public final class DunlinMutableDocument {
  private let draft: DocumentDraft

  init(_ draft: DocumentDraft) { self.draft = draft }

  /// The id of the document in its collection.
  public var id: DunlinDocumentID { DunlinDocumentID(draft.id) }

  /// The document's current fields, with what the closure has written so far.
  public var value: [String: Any?] { draft.fields.byString }

  /// The same with keys that are distinguished by their bytes.
  public var exactValue: [TextKey: Any?] { draft.fields.mapValues(\.any) }

  /// A place in the document, for reading and writing.
  public subscript(key: String) -> DunlinMutableDocumentPath {
    DunlinMutableDocumentPath(draft: draft, path: [.key(TextKey(key))])
  }

  /// Sets a field: `doc?["age"] = 32`; `nil` sets null.
  @_disfavoredOverload
  public subscript(key: String) -> Any? {
    get { self[key].value }
    set { self[key].set(newValue) }
  }
}

/// A place in a document inside an update closure.
public struct DunlinMutableDocumentPath {
  let draft: DocumentDraft
  let path: [PathComponent]

  private var standing: DunlinDocumentPath { DunlinDocumentPath(draft.value(at: path)) }

  /// A place below this one; the values on the way to it become maps when it is set.
  public subscript(key: String) -> DunlinMutableDocumentPath {
    DunlinMutableDocumentPath(draft: draft, path: path + [.key(TextKey(key))])
  }

  /// An element of the array at this place; an array is one value, which is written as a whole.
  public subscript(index: Int) -> DunlinMutableDocumentPath {
    DunlinMutableDocumentPath(draft: draft, path: path + [.index(index)])
  }

  /// Sets a value below this place.
  @_disfavoredOverload
  public subscript(key: String) -> Any? {
    get { self[key].value }
    nonmutating set { self[key].set(newValue) }
  }

  /// Sets an element of the array at this place.
  @_disfavoredOverload
  public subscript(index: Int) -> Any? {
    get { self[index].value }
    nonmutating set { self[index].set(newValue) }
  }

  /// Sets the value at this place; a dictionary merges into a map there, key by key.
  public func set(_ value: Any?) { draft.set(value, at: path) }

  /// Sets the value at this place; a dictionary replaces a map there.
  public func replace(with value: Any?) { draft.set(value, at: path, replacing: true) }

  /// Removes the value at this place.
  public func remove() { draft.remove(path) }

  /// Turns the integer at this place into a counter, which starts with that integer.
  ///
  /// Where there is no value, the counter starts at zero.
  public func replaceWithCounter() { draft.replaceWithCounter(path) }

  /// The counter at this place; `nil` for a plain number and where there is no value.
  public var counter: DunlinMutableCounter? {
    standing.counter.map { DunlinMutableCounter(draft: draft, path: path, value: $0.value) }
  }

  /// The value at this place; `nil` for null and where there is no value.
  public var value: Any? { standing.value }
  public var string: String? { standing.string }
  public var stringValue: String { standing.stringValue }
  public var int: Int? { standing.int }
  public var intValue: Int { standing.intValue }
  public var double: Double? { standing.double }
  public var doubleValue: Double { standing.doubleValue }
  public var bool: Bool? { standing.bool }
  public var boolValue: Bool { standing.boolValue }
  public var array: [Any?]? { standing.array }
  public var arrayValue: [Any?] { standing.arrayValue }
  public var dictionary: [String: Any?]? { standing.dictionary }
  public var dictionaryValue: [String: Any?] { standing.dictionaryValue }
}

/// A counter inside an update closure.
public struct DunlinMutableCounter {
  private let draft: DocumentDraft
  private let path: [PathComponent]
  /// The sum when the counter was read.
  public let value: Int

  init(draft: DocumentDraft, path: [PathComponent], value: Int) {
    self.draft = draft
    self.path = path
    self.value = value
  }

  /// Adds to the counter; a negative amount counts down.
  public func increment(by amount: Int = 1) { draft.increment(path, by: amount) }

  /// Restarts the counter: increments of other peers that are unknown here no longer count.
  public func restart(at value: Int = 0) { draft.restart(path, at: value) }
}
