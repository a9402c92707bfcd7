import Platform

/// Keeps the system's allocator from returning memory after each transaction, only to request it again.
///
/// The GNU C library adapts to large blocks that are freed: it keeps free memory up to twice the largest one.
/// Without this hint it would adapt only once a document of such a size is freed.
enum AllocatorHint {
  /// About the size of the records and pages of a large transaction.
  private static let blockBytes = 4 << 20

  /// The hint is given once in a process.
  static let given: Void = {
    #if canImport(Glibc)
      // SAFETY: nothing is read or written. The compiler could optimise away a block that nobody uses, hence
      // a function whose meaning it does not know.
      unsafe free(realloc(nil, blockBytes))
    #endif
  }()
}
