import CLMDB

extension Environment {
  /// Whether the map is smaller than requested, because the process could not reserve that much.
  var isSmallerThanAsked: Bool { mapBytes < askedBytes }

  /// Opens the engine with a map of up to `mapBytes`, as large as the process can reserve.
  ///
  /// - Parameters:
  ///   - path: The data file.
  ///   - mapBytes: The size that documents may fill; above 0.
  ///   - contents: The bytes that the file has or will have; the map must have room for them.
  ///   - space: The address space that the process can reserve.
  ///   - pageBytes: The file's page size.
  ///   - flags: Additional flags for the engine.
  /// - Returns: The handle, and the number of pages that documents may fill.
  /// - Throws: `argument` if the size is not positive; `noMemory` if not even the smallest map can be
  ///   reserved.
  static func openEngine(
    _ path: String, upTo mapBytes: Int, contents: Int, in space: AddressSpace = AddressSpace(),
    pageBytes: Int = PageSize.made, flags: Int32 = 0
  ) throws(StoreError) -> (handle: OpaquePointer, pageLimit: Int) {
    guard mapBytes > 0 else {
      throw StoreError(.argument, "mapBytes is \(mapBytes) and must be above 0", operation: "open")
    }
    let least = min(mapBytes, max(space.leastMapBytes, contents + contents / 4))
    var bytes = space.affordable(mapBytes, least: least, pageBytes: pageBytes)
    while true {
      do throws(StoreError) {
        return try unsafe openEngine(path, mapBytes: bytes, pageBytes: pageBytes, flags: flags)
      } catch  where error.code == .noMemory {
        // Other threads have reserved some of the address space since the check.
        guard bytes > least else {
          throw StoreError(
            .noMemory, "The process cannot have \(AddressSpace.text(bytes)) of address space for the store",
            operation: "open", underlying: error.underlying)
        }
        bytes = max(bytes / 2, least)
      }
    }
  }

  /// Enlarges the map if it is smaller than requested and the file fills half of it.
  ///
  /// Call it on the writer thread between transactions. Readers may continue until `deadline`. If they do not
  /// end by then, the next transaction tries again.
  /// - Returns: Whether the map has grown.
  func growIfNeeded(deadline: Duration) throws(StoreError) -> Bool {
    guard isSmallerThanAsked else { return false }
    let (used, limit) = (try pageCount(), pageLimit)
    guard used > limit / 2, used >= growth.withLock({ $0 }) else { return false }
    // The next attempt waits until the file has grown by another sixteenth of the limit.
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
