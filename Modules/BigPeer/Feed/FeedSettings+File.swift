#if Server
  import CRDTCore

  extension FeedSettings {
    /// Reads the member `feed` of an application in a configuration file.
    ///
    /// - Parameters:
    ///   - object: The member.
    ///   - mistakes: Gets all mistakes, with file and line.
    init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      self.init()
      let times = Duration.milliseconds(100)...Duration.seconds(3_600)
      // Streams and webhooks are readers of one database, which can have at most 4,096.
      mistakes.collect { streams = try object.integer("streams", in: 1...3_000) ?? streams }
      mistakes.collect {
        heartbeat = try object.duration("heartbeat", in: .seconds(1) ... .seconds(600)) ?? heartbeat
      }
      mistakes.collect { webhooks = try object.integer("webhooks", in: 0...1_000) ?? webhooks }
      mistakes.collect {
        allowsPrivateAddresses = try object.flag("allowPrivateAddresses") ?? allowsPrivateAddresses
      }
      mistakes.collect { webhookAuthorities = try object.existingFile("webhookAuthorities") }
      mistakes.collect { deliveryTime = try object.duration("deliveryTime", in: times) ?? deliveryTime }
      mistakes.collect { retryTime = try object.duration("retryTime", in: times) ?? retryTime }
      mistakes.collect {
        longestRetryTime = try object.duration("longestRetryTime", in: times) ?? longestRetryTime
      }
      mistakes.collect {
        pauseTime = try object.duration("pauseTime", in: .seconds(1) ... .seconds(30 * 86_400)) ?? pauseTime
      }
      object.leftovers.forEach(mistakes.add)
    }
  }
#endif
