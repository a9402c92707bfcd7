package import CRDTCore

extension DocumentID {
  /// Copies an id out of the store's memory, which contains only canonical ids.
  package init(copying bytes: RawSpan) {
    self.init(trusted: unsafe bytes.withUnsafeBytes { unsafe Array($0) })
  }
}
