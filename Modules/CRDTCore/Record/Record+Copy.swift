extension Record {
  /// Copies a record out of the memory that the view reads.
  package init(copying view: borrowing RecordView) {
    self.init(bytes: unsafe view.bytes.withUnsafeBytes { unsafe Array($0) })
  }
}
