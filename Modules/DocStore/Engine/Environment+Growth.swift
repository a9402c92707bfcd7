import CLMDB

extension Environment {
  /// Whether the map is smaller than it was asked to be, because the process could not have so much.
  var isSmallerThanAsked: Bool { mapBytes < askedBytes }

  /// Opens the engine with as much of `mapBytes` as the process can have.
  ///
  /// - Parameters:
  ///   - path: The data file.
  ///   - mapBytes: The size that documents may fill; above 0.
  ///   - contents: Bytes that the file has or is to hold, for which there must be room.
  ///   - space: What the process can have.
  ///   - flags: More of the engine's flags.
  /// - Returns: The handle, and the pages that documents may fill.
  /// - Throws: `argument` for a size that is none; `noMemory` when not even the least can be had.
  static func openEngine(
    _ path: String, upTo mapBytes: Int, contents: Int, in space: AddressSpace = AddressSpace(),
    flags: Int32 = 0
  ) throws(StoreError) -> (handle: OpaquePointer, pageLimit: Int) {
    guard mapBytes > 0 else {
      throw StoreError(.argument, "mapBytes is \(mapBytes) and must be above 0", operation: "open")
    }
    let least = min(mapBytes, max(space.leastMapBytes, contents + contents / 4))
    var bytes = space.affordable(mapBytes, least: least)
    while true {
      do throws(StoreError) {
        return try unsafe openEngine(path, mapBytes: bytes, flags: flags)
      } catch  where error.code == .noMemory {
        // Others took some of it since it was tried.
        guard bytes > least else {
          throw StoreError(
            .noMemory, "The process cannot have \(AddressSpace.text(bytes)) of address space for the store",
            operation: "open", underlying: error.underlying)
        }
        bytes = max(bytes / 2, least)
      }
    }
  }

  /// Makes the map larger where it is smaller than asked and the file fills half of it.
  ///
  /// To be called on the writer thread between transactions. Readers may go on for as long as `deadline`; if they do,
  /// the next transaction tries again.
  /// - Returns: Whether the map has grown.
  func growIfNeeded(deadline: Duration) throws(StoreError) -> Bool {
    guard isSmallerThanAsked else { return false }
    let (used, limit) = (try pageCount(), pageLimit)
    guard used > limit / 2, used >= growth.withLock({ $0 }) else { return false }
    // Not again before the file is larger by another sixteenth.
    growth.withLock { $0 = used + limit / 16 }
    let wanted = min(askedBytes, 2 * mapBytes)
    do throws(StoreError) {
      try resize(to: wanted, deadline: deadline)
      growth.withLock { $0 = 0 }
      return true
    } catch  where error.code == .deadline || error.code == .noMemory {
      return false
    }
  }
}
