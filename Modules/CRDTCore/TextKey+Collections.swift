/// Sets and dictionaries of keys accept strings as well.
extension Set where Element == TextKey {
  /// Whether a text with these bytes is in the set.
  public func contains(_ text: String) -> Bool { contains(TextKey(text)) }

  @discardableResult
  package mutating func insert(_ text: String) -> (inserted: Bool, memberAfterInsert: TextKey) {
    insert(TextKey(text))
  }
}

extension Dictionary where Key == TextKey {
  /// The value under a text's bytes.
  public subscript(_ text: String) -> Value? {
    get { self[TextKey(text)] }
    _modify { yield &self[TextKey(text)] }
  }

  package subscript(_ text: String, default value: @autoclosure () -> Value) -> Value {
    get { self[TextKey(text), default: value()] }
    _modify { yield &self[TextKey(text), default: value()] }
  }

  /// Removes the value of a text's bytes, and returns it.
  @discardableResult
  public mutating func removeValue(forKey text: String) -> Value? { removeValue(forKey: TextKey(text)) }

  /// Sets the value of a text's bytes.
  ///
  /// - Returns: The value before.
  @discardableResult
  package mutating func updateValue(_ value: Value, forKey text: String) -> Value? {
    updateValue(value, forKey: TextKey(text))
  }
}
