extension Writer {
  /// How long readers may keep the map from growing before the transaction goes on in the one there is.
  private static let growthDeadline = Duration.milliseconds(50)

  /// Gives the store more room where it began with less than asked.
  func grow(_ environment: Environment) {
    // Also where the process could not have the new map after the old one was given up.
    defer { poison(ifLost: environment) }
    do throws(StoreError) {
      guard try environment.growIfNeeded(deadline: Self.growthDeadline) else { return }
      adoptSize()
      settings.options.write(
        .info, "The store may grow to \(AddressSpace.text(environment.mapBytes)) now")
    } catch {
      settings.options.write(.error, error.message)
    }
  }

  /// Refuses all writes once the map was lost while it was moved.
  func poison(ifLost environment: Environment) {
    if let failure = environment.readers.withLock({ $0.failure }) { poison(by: failure) }
  }
}
