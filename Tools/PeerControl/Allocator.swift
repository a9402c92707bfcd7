import Foundation

/// The allocator of a process that runs for long.
package enum Allocator {
  /// The parameters of `mallopt` as <malloc.h> has them, which Swift does not import.
  private static let (trimThreshold, mapThreshold, mostArenas): (Int32, Int32, Int32) = (-1, -3, -8)
  /// How often the memory is looked at, in seconds, and by how many bytes it must have changed.
  private static let (interval, change) = (5.0, 4 << 20)

  /// Makes glibc's allocator return free memory to the system.
  ///
  /// By default it keeps up to 64 MiB of free memory in each arena, and has eight arenas for each core. It
  /// returns only the end of an arena, so one small block behind much free memory keeps all of it. A thread
  /// returns that, when the memory in use has changed much.
  package static func keepLittle() {
    #if canImport(Glibc)
      guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
      typealias Set = @convention(c) (Int32, Int32) -> Int32
      // SAFETY: that is the signature that glibc gives it.
      let set = unsafe unsafeBitCast(symbol, to: Set.self)
      _ = set(mostArenas, 2)
      _ = set(mapThreshold, 128 << 10)
      _ = set(trimThreshold, 1 << 20)
      returnFreed()
    #endif
  }

  #if canImport(Glibc)
    private static func returnFreed() {
      guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
      typealias Trim = @convention(c) (Int) -> Int32
      // SAFETY: that is the signature that glibc gives it.
      let trim = unsafe unsafeBitCast(symbol, to: Trim.self)
      Thread.detachNewThread {
        var last = 0
        while true {
          Thread.sleep(forTimeInterval: interval)
          guard let bytes = privateBytes, abs(bytes - last) > change else { continue }
          _ = trim(0)
          last = privateBytes ?? bytes
        }
      }
    }

    /// The memory in use that belongs to no file, in bytes.
    private static var privateBytes: Int? {
      guard let file = FileManager.default.contents(atPath: "/proc/self/statm") else { return nil }
      let pages = String(decoding: file, as: UTF8.self).split(separator: " ").prefix(3).compactMap { Int($0) }
      return pages.count == 3 ? (pages[1] - pages[2]) * Int(getpagesize()) : nil
    }
  #endif
}
