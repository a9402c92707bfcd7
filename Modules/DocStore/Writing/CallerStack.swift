// The compiler first meets the system's thread types in LMDB's header.
import CLMDB
import Platform

/// Whether the stacks of the application's threads are deep enough; asked once for each thread.
enum CallerStack {
  /// The stack that documents nested to the limit may need, with a margin.
  private static let leastBytes = 4 << 20

  /// The values stored for a thread; none if it has not been asked yet.
  private static let (shallow, deep) = (1, 2)

  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// Whether the calling thread has a stack as deep as the store's own thread.
  static var isDeep: Bool {
    guard let key else { return false }
    let known = unsafe Int(bitPattern: pthread_getspecific(key))
    if known != 0 { return known == deep }
    let isDeep = byteCount >= leastBytes
    // SAFETY: this is not an address but a number; it is never dereferenced.
    unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: isDeep ? deep : shallow))
    return isDeep
  }

  private static var byteCount: Int {
    #if canImport(Darwin)
      unsafe pthread_get_stacksize_np(pthread_self())
    #else
      dunlin_stack_bytes()
    #endif
  }
}
