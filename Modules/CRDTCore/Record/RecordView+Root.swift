extension ResolvedPath {
  /// The id of the path's only key, which is sufficient in most records; `nil` for longer paths.
  package var soleKeyID: UInt16? { isSole ? soleID : nil }
}

extension RecordView {
  /// Whether the root's keys are in the record, so that fields are found by path and not by key id.
  package var carriesRootKeys: Bool { root.carriesKeys }

  /// Returns a field by its key's id, without a path.
  ///
  /// This works only if the root does not carry its keys.
  @_lifetime(copy self)
  package func value(ofRootKey id: UInt16) -> ValueRef? {
    guard let offset = root.slotOffset(ofID: id) else { return nil }
    return ValueRef(bytes, slotAt: offset)
  }
}
