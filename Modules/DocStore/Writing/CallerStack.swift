// LMDB's header is where the compiler first meets the system's thread types.
import CLMDB
import Platform

/// How deep the stacks of the application's threads are, asked once for each thread.
enum CallerStack {
  /// What documents that are nested to the limit may take, with room to spare.
  private static let leastBytes = 4 << 20

  /// What a thread remembers of itself: nothing, shallow, deep.
  private static let (shallow, deep) = (1, 2)

  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// Whether the calling thread has a stack like the store's own thread.
  static var isDeep: Bool {
    guard let key else { return false }
    let known = unsafe Int(bitPattern: pthread_getspecific(key))
    if known != 0 { return known == deep }
    let isDeep = byteCount >= leastBytes
    // SAFETY: no address, but a number that is never followed.
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
