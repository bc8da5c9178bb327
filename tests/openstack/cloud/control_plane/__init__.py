"""Starts and stops the services of an OpenStack on the loopback."""
