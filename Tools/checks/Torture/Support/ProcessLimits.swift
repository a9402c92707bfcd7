/// File systems and limits for one process alone; meant for a child.
struct ProcessLimits {
  private let mountsCall: @convention(c) () -> Int32
  private let memoryCall: @convention(c) (UnsafePointer<CChar>, Int) -> Int32
  private let filesCall: @convention(c) (Int) -> Void
  private let descriptorsCall: @convention(c) (Int) -> Void

  init() throws {
    mountsCall = try Shim.find("torture_private_mounts", as: (@convention(c) () -> Int32).self)
    memoryCall = try Shim.find(
      "torture_mount_memory", as: (@convention(c) (UnsafePointer<CChar>, Int) -> Int32).self)
    filesCall = try Shim.find("torture_limit_files", as: (@convention(c) (Int) -> Void).self)
    descriptorsCall = try Shim.find("torture_limit_descriptors", as: (@convention(c) (Int) -> Void).self)
  }

  /// Why this process cannot have mounts of its own; `nil` when it has them now.
  func takeMounts() -> Int32? {
    let code = mountsCall()
    return code == 0 ? nil : code
  }

  /// Mounts a small memory file system.
  func mountMemory(at path: String, bytes: Int) throws {
    let code = memoryCall(path, bytes)
    guard code == 0 else { throw Failure(.harness, "no file system at \(path): errno \(code)") }
  }

  /// Lets no file of this process grow beyond a size; `nil` lifts it.
  func limitFiles(toBytes bytes: Int?) { filesCall(bytes ?? -1) }

  /// Lets this process have no more files open than this; `nil` lifts it.
  func limitDescriptors(to count: Int?) { descriptorsCall(count ?? -1) }
}
