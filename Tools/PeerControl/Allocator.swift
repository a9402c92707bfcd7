import Foundation

/// The allocator of a process that runs for long.
package enum Allocator {
  /// The parameters of `mallopt` as <malloc.h> has them, which Swift does not import.
  private static let (trimThreshold, mapThreshold, mostArenas): (Int32, Int32, Int32) = (-1, -3, -8)

  /// Makes glibc's allocator return free memory to the system.
  ///
  /// By default it keeps up to 64 MiB of free memory in each arena, and has eight arenas for each core.
  package static func keepLittle() {
    #if canImport(Glibc)
      guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
      typealias Set = @convention(c) (Int32, Int32) -> Int32
      // SAFETY: that is the signature that glibc gives it.
      let set = unsafe unsafeBitCast(symbol, to: Set.self)
      _ = set(mostArenas, 2)
      _ = set(mapThreshold, 128 << 10)
      _ = set(trimThreshold, 1 << 20)
    #endif
  }
}
