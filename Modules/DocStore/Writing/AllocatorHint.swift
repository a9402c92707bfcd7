import Platform

/// Keeps the system's allocator from handing memory back after each transaction, to get it again for the next.
///
/// The GNU C library learns from large blocks that are given back: it keeps free memory up to twice the largest one.
/// What it does not know yet when the store opens it would learn only from documents of such a size.
enum AllocatorHint {
  /// About what the records and pages of a large transaction take.
  private static let blockBytes = 4 << 20

  /// Once a process.
  static let given: Void = {
    #if canImport(Glibc)
      // SAFETY: nothing is read or written. A block that nobody uses could be optimised away, hence the function that
      // the compiler does not know the meaning of.
      unsafe free(realloc(nil, blockBytes))
    #endif
  }()
}
