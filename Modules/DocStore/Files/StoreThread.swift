// LMDB's header is where the compiler first finds the system's thread types.
import CLMDB
import Platform

/// A system thread, for work that must stay on one thread or may block.
// SAFETY: the handle never changes, and `join` is called once, by the code that closes the store.
struct StoreThread: @unchecked Sendable {
  private let handle: pthread_t

  /// Enough for documents nested to the limit, whatever the system's default is.
  private static let stackBytes = 8 << 20

  private final class Start {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  init(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setstacksize(&attributes, Self.stackBytes)
    let start = unsafe Unmanaged.passRetained(Start(body))
    #if canImport(Darwin)
      var handle: pthread_t?
      let rc = unsafe pthread_create(
        &handle, &attributes,
        { context in
          // SAFETY: the context is the retained start, consumed exactly once.
          unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
          return nil
        }, start.toOpaque())
    #else
      var created: pthread_t = 0
      let rc = unsafe pthread_create(
        &created, &attributes,
        { context in
          // SAFETY: the context is the retained start, consumed exactly once.
          if let context = unsafe context {
            unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
          }
          return nil
        }, start.toOpaque())
      let handle: pthread_t? = created
    #endif
    guard rc == 0, let handle else {
      unsafe start.release()
      throw StoreError(
        .noMemory, "The system gives the process no more threads", operation: "pthread_create",
        underlying: rc)
    }
    self.handle = handle
  }

  /// A number that distinguishes the calling thread from all other running threads; never 0.
  static var current: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      pthread_self()
    #endif
  }

  var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }

  /// Waits until the thread has ended.
  func join() { pthread_join(handle, nil) }

  /// Makes the system release the thread's resources when it ends.
  func detach() { pthread_detach(handle) }
}
